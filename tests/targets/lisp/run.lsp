; SPDX-License-Identifier: MIT
; Loads $PROGRAM and calls (work $COUNT), in $THREADS threads at a time if there are more than one.
(load (ext:getenv "PROGRAM"))
(let ((count (parse-integer (ext:getenv "COUNT")))
      (threads (parse-integer (ext:getenv "THREADS"))))
  (if (= threads 1)
      (work count)
      (mapc #'mp:process-join
            (loop repeat threads collect (mp:process-run-function "worker" #'work count)))))
