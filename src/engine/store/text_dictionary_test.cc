/* text_dictionary_test.cc - texts keep their numbers, whoever adds them, until nothing is added any more. */
#include "engine/store/text_dictionary.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <thread>

namespace turbine {
namespace {

/* Views of words, one after the other. */
struct Words {
  std::string bytes;
  std::vector<TbTextView> views;
  std::vector<uint8_t> valid;
  ColumnOrigin origin;

  explicit Words(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      views.push_back({static_cast<uint32_t>(word.size()), 0, 0, static_cast<uint32_t>(bytes.size())});
      bytes += word;
    }
    origin = {reinterpret_cast<const uint8_t*>(views.data()), nullptr, reinterpret_cast<const uint8_t*>(bytes.data())};
  }
  ColumnPiece piece() const { return {&origin, 0, static_cast<uint32_t>(views.size()), 0}; }
};

std::string text_of(const TextDictionary& dictionary, int32_t code) {
  const TbTextView view = dictionary.views()[code];
  return {reinterpret_cast<const char*>(dictionary.bytes()) + view.offset, view.length};
}

TEST(TextDictionary, EqualTextsHaveOneNumberAndOneId) {
  TextDictionary dictionary;
  const Words words({"one", "two", "", "one", "a text that is longer than a word", "two", ""});
  int32_t codes[7];
  ASSERT_TRUE(dictionary.encode(words.piece(), codes));
  EXPECT_EQ(dictionary.entries(), 4u);
  EXPECT_EQ(codes[0], codes[3]);
  EXPECT_EQ(codes[1], codes[5]);
  EXPECT_EQ(codes[2], codes[6]);
  EXPECT_EQ(text_of(dictionary, codes[4]), "a text that is longer than a word");
  TextDictionary other;
  ASSERT_TRUE(other.encode(words.piece(), codes));
  std::set<uint32_t> ids;
  for (uint32_t i = 0; i < 4; i++) ids.insert({dictionary.views()[i].id, other.views()[i].id});
  EXPECT_EQ(ids.size(), 8u);
  EXPECT_EQ(ids.count(0), 0u);
}

TEST(TextDictionary, NullsHaveNoText) {
  TextDictionary dictionary;
  Words words({"x", "y", "x"});
  words.views[1] = {77, 77, 77, 4000000000u};
  words.valid = {1, 0, 1};
  words.origin.valid = words.valid.data();
  int32_t codes[3] = {9, 9, 9};
  ASSERT_TRUE(dictionary.encode(words.piece(), codes));
  EXPECT_EQ(dictionary.entries(), 1u);
  EXPECT_EQ(codes[1], 0);
}

TEST(TextDictionary, IsClosedWhenItIsFullAndStillFindsWhatItHas) {
  TextDictionary dictionary(100000);
  int32_t codes[2];
  const Words known({"known", "known"});
  ASSERT_TRUE(dictionary.encode(known.piece(), codes));
  const std::string filler(30000, 'f');
  for (int i = 0; i < 3; i++) ASSERT_TRUE(dictionary.encode(Words({filler + std::to_string(i)}).piece(), codes));
  EXPECT_FALSE(dictionary.encode(Words({"known", filler + "4"}).piece(), codes));
  EXPECT_FALSE(dictionary.encode(Words({"short"}).piece(), codes)) << "and stays so";
  EXPECT_TRUE(dictionary.encode(known.piece(), codes));
  EXPECT_EQ(text_of(dictionary, codes[1]), "known");
}

TEST(TextDictionary, IsClosedWhereMostTextsAreNew) {
  TextDictionary dictionary;
  bool more = true;
  uint32_t rows = 0;
  while (more && rows < 1000000) {
    std::vector<std::string> words;
    for (int i = 0; i < 1000; i++) words.push_back("text " + std::to_string(rows + i));
    std::vector<int32_t> codes(words.size());
    more = dictionary.encode(Words(words).piece(), codes.data());
    rows += 1000;
  }
  EXPECT_FALSE(more);
  EXPECT_LT(dictionary.entries(), 200000u);
  EXPECT_EQ(text_of(dictionary, 4321), "text 4321");
}

TEST(TextDictionary, ThreadsAgree) {
  TextDictionary dictionary;
  constexpr int kThreads = 4, kRounds = 60, kRows = 2000, kTexts = 30000;
  std::vector<std::thread> threads;
  std::vector<std::vector<int32_t>> seen(kThreads, std::vector<int32_t>(kTexts, -1));
  std::atomic<int> wrong{0};
  for (int t = 0; t < kThreads; t++)
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int round = 0; round < kRounds; round++) {
        std::vector<uint32_t> drawn;
        std::vector<std::string> words;
        for (int i = 0; i < kRows; i++) {
          drawn.push_back(random() % kTexts);
          words.push_back(std::to_string(drawn.back() * 2654435761u));
        }
        std::vector<int32_t> codes(kRows);
        if (!dictionary.encode(Words(words).piece(), codes.data())) wrong++;
        for (int i = 0; i < kRows; i++) {
          if (text_of(dictionary, codes[i]) != words[i]) wrong++;
          seen[t][drawn[i]] = codes[i];
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  for (int i = 0; i < kTexts; i++)
    for (int t = 1; t < kThreads; t++)
      if (seen[0][i] >= 0 && seen[t][i] >= 0) {
        ASSERT_EQ(seen[0][i], seen[t][i]);
      }
}

}  // namespace
}  // namespace turbine
