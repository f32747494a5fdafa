#include "hornbeam/io/text_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/memory_file_system.h"
#include "hornbeam/hornbeam.h"

namespace hornbeam {
namespace {

using testing::UnorderedElementsAre;

TEST(TextIoTest, WhatIsNoLineIsGivenBack) {
  for (const auto mode :
       {engine::ProcessingMode::kExactlyOnce, engine::ProcessingMode::kAtLeastOnce}) {
    MemoryFileSystem fs;
    PipelineOptions options;
    options.fs = &fs;
    options.mode = mode;
    options.workers = 1;
    Pipeline pipeline(options);
    const auto refused =
        pipeline |
        "Make" >> Create<std::string>(std::vector<std::string>{"a", "two\nlines", "", "b\r", "\n"}) |
        "Write" >> io::WriteLines("out.txt");
    refused | "WriteLengths" >> Map([](const std::string& line) {
      return std::to_string(line.size());
    }) | "WriteRefused" >> io::WriteLines("refused.txt");
    const Status status = pipeline.Run();
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(*ReadFile(fs, "out.txt"), "a\n\nb\r\n");
    EXPECT_EQ(*ReadFile(fs, "refused.txt"), "9\n1\n");
  }
}

}  // namespace
}  // namespace hornbeam
