# cmake -DPROGRAM=... -DEXPECTED=file -P CompareOutput.cmake: fails unless what the program prints is the file, to the letter.
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE actual RESULT_VARIABLE result)
file(READ ${EXPECTED} expected)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} exited with ${result}")
endif()
if(NOT actual STREQUAL expected)
  message(FATAL_ERROR "${PROGRAM} printed\n${actual}\nbut should have printed\n${expected}")
endif()
