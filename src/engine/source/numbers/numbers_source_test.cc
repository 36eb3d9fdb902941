/* numbers_source_test.cc - a new source's tasks run on a GPU's device, here against a fake driver. */
#include <gtest/gtest.h>

#include "engine/device/cuda/find_gpus.h"
#include "engine/device/cuda/testing/query_run.h"
#include "engine/source/part_kinds.h"
#include "engine/source/testing/recording_sink.h"
#include "engine/wire/message_bytes.h"

namespace turbine::cuda::testing {
namespace {

TEST(NumbersSource, AreSummedOnAGpu) {
  constexpr uint64_t kCount = 100003;  // several tasks, the last one not full
  const std::shared_ptr<const Program> program = fake_program(Shape::UNGROUPED);
  FakeDriver fake{FakeOptions()};
  set_fake_kernels(fake, *program, std::make_shared<std::atomic<uint32_t>>(0));
  std::string why;
  std::vector<std::unique_ptr<Device>> devices = find_gpus(fake.table(), &why, 0);
  ASSERT_EQ(devices.size(), 1u) << why;

  ColumnStore store(1 << 20);
  const auto params = std::make_shared<const std::string>(turbine::testing::ParamWriter().block());
  SegmentSource segments(store, program, params, {});
  WorkerPool workers("worker", 1);
  StorageReader reader(workers);
  const auto numbers = part_kinds().at(TB_PART_NUMBERS)(
      {store, *program, segments, workers, nullptr, {reader, StoragePath::kAuto, 0.5, 0, 0}});
  turbine::testing::RecordingSink sink;
  sink.shape = {.rows = 40000};
  numbers->begin(sink);
  numbers->add(bytes_of(TbNumbersPart{kCount}), -1);
  ASSERT_EQ(sink.tasks.size(), 4u);

  std::vector<Chunk> chunks(sink.tasks.size());
  for (size_t i = 0; i < chunks.size(); i++) chunks[i].segments = sink.tasks[i].as<SegmentsInput>()->morsel;
  const Answer answer = run_query(*devices[0], program, chunks);
  EXPECT_EQ(answer.count, static_cast<int64_t>(kCount));
  EXPECT_EQ(answer.sum, static_cast<int64_t>(kCount * (kCount + 1) / 2));
  EXPECT_THROW(numbers->add({}, -1), ProtocolError);
}

}  // namespace
}  // namespace turbine::cuda::testing
