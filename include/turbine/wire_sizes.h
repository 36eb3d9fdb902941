/*
 * wire_sizes.h - the sizes of wire.h's messages: a change that was not meant stops the
 * build. Included by wire.h alone.
 */
#ifndef TURBINE_WIRE_SIZES_H
#define TURBINE_WIRE_SIZES_H

static_assert(sizeof(TbMessage) == 8, "TbMessage layout");
static_assert(sizeof(TbHello) == 32, "TbHello layout");
static_assert(sizeof(TbWelcome) == 16, "TbWelcome layout");
static_assert(sizeof(TbDeviceInfo) == 344, "TbDeviceInfo layout");
static_assert(sizeof(TbStatusReply) == 64, "TbStatusReply layout");
static_assert(sizeof(TbTopologyDevice) == 600, "TbTopologyDevice layout");
static_assert(sizeof(TbTopologyReply) == 8, "TbTopologyReply layout");
static_assert(sizeof(TbFiles) == 8, "TbFiles layout");
static_assert(sizeof(TbResultLeft) == 32, "TbResultLeft layout");
static_assert(sizeof(TbQuery) == 112, "TbQuery layout");
static_assert(sizeof(TbStream) == 32, "TbStream layout");
static_assert(sizeof(TbStreamColumn) == 8, "TbStreamColumn layout");
static_assert(sizeof(TbStreamBatch) == 32, "TbStreamBatch layout");
static_assert(sizeof(TbContinuation) == 32, "TbContinuation layout");
static_assert(sizeof(TbPrepare) == 16, "TbPrepare layout");
static_assert(sizeof(TbLayout) == 16, "TbLayout layout");
static_assert(sizeof(TbReady) == 88, "TbReady layout");
static_assert(sizeof(TbAttach) == 16, "TbAttach layout");
static_assert(sizeof(TbAttached) == 16, "TbAttached layout");
static_assert(sizeof(TbFailure) == 252, "TbFailure layout");
static_assert(sizeof(TbRun) == 12, "TbRun layout");
static_assert(sizeof(TbFileIdentity) == 32, "TbFileIdentity layout");
static_assert(sizeof(TbSegments) == 64, "TbSegments layout");
static_assert(sizeof(TbSegmentsTaken) == 72, "TbSegmentsTaken layout");
static_assert(sizeof(TbSnapshot) == 24, "TbSnapshot layout");
static_assert(sizeof(TbFreshHeader) == 24, "TbFreshHeader layout");
static_assert(sizeof(TbPart) == 8, "TbPart layout");
static_assert(sizeof(TbNumbersPart) == 8, "TbNumbersPart layout");
static_assert(sizeof(TbFilePart) == 16, "TbFilePart layout");
static_assert(sizeof(TbPartColumn) == 40, "TbPartColumn layout");
static_assert(sizeof(TbCachedColumn) == 104, "TbCachedColumn layout");
static_assert(sizeof(TbCacheReported) == 24, "TbCacheReported layout");
static_assert(sizeof(TbCacheDropped) == 8, "TbCacheDropped layout");
static_assert(sizeof(TbChunk) == 48, "TbChunk layout");
static_assert(sizeof(TbColumnsChunk) == 24, "TbColumnsChunk layout");
static_assert(sizeof(TbChunkRead) == 8, "TbChunkRead layout");
static_assert(sizeof(TbChunkRelease) == 8, "TbChunkRelease layout");
static_assert(sizeof(TbChunkDone) == 24, "TbChunkDone layout");
static_assert(sizeof(TbResultBatch) == 32, "TbResultBatch layout");
static_assert(sizeof(TbSlotFree) == 8, "TbSlotFree layout");
static_assert(sizeof(TbKeyBounds) == 24, "TbKeyBounds layout");
static_assert(sizeof(TbQueryDone) == 3008, "TbQueryDone layout");
static_assert(sizeof(TbTrace) == 16, "TbTrace layout");

#endif
