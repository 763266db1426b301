# SPDX-License-Identifier: MIT
# The web page: that web/dist is built from web/src, and the page in a browser.
list(APPEND HEAPWISE_TEST_ENVIRONMENT HEAPWISE_EXAMPLES=${PROJECT_BINARY_DIR}/examples)
set(HEAPWISE_TIMEOUT 900)
heapwise_script_test(web.dist ${CMAKE_CURRENT_SOURCE_DIR}/web/web.sh dist)
heapwise_script_test(web.page ${CMAKE_CURRENT_SOURCE_DIR}/web/web.sh page)
set_tests_properties(web.page PROPERTIES COST 500) # begun first: it waits more than it works
set(HEAPWISE_TIMEOUT 3600)
set(HEAPWISE_LABEL full)
heapwise_script_test(web.full ${CMAKE_CURRENT_SOURCE_DIR}/web/web.sh full)
unset(HEAPWISE_LABEL)
unset(HEAPWISE_TIMEOUT)
