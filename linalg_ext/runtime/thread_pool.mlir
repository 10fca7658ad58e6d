// The threads that share the work of calls: all that happens between a call and its end.
//
// A crew is a block of memory:
//   0    i64   the newest job with a place for a helper, or 0
//   8    i64   how many helpers sleep
//   16   i64   how many callers sleep
//   24   i32   the processor that the last caller runs on, or -1
//   32   i64   how many rounds a caller waits awake
//   64         the mutex for all of these
//   128        the condition that helpers sleep on
//   192        the condition that callers sleep on
//
// What compiled code is given, to have a loop shared, is a block with
//   0    ptr   @share
//   8    ptr   the crew
//   16   i64   how many helpers may come
// and, where another library lends threads, what OpenMP calls a team, @share_in_team at 0 and
//   24   ptr   GOMP_parallel, which has a team call a function
//   32   i64   how many threads the team has, the caller's among them
//   40   i64   for how many loops more the team is let alone
//   48   i64   for how many it is when it comes late the next time
//
// A job is a block on its caller's stack:
//   0    ptr   what is called for each slice: takes the loop's values, and the slice's number
//   8    ptr   the loop's values
//   16   ptr   the crew
//   24   i64   how many slices there are
//   32   i64   how many of them were taken
//   40   i64   how many helpers may still come
//   48   i64   how many helpers are at it
//   56   i64   the next job with a place for a helper, or 0
//   64   i64   the first slice that failed
//   72   i64   its status, or 0
//
// Helpers and callers wait awake for as long as going to sleep and being woken would take, for
// calls come in rows; then they sleep. A helper that wakes up on its caller's processor goes
// elsewhere: systems look for an idle processor only now and then. A job is taken up and left under
// the mutex, so that its caller, who waits until nobody is at it, may forget it.

// Three more functions are the machine's (see crew.py): @pause, @processor and @leave.

llvm.func @pthread_mutex_lock(!llvm.ptr) -> i32
llvm.func @pthread_mutex_unlock(!llvm.ptr) -> i32
llvm.func @pthread_cond_wait(!llvm.ptr, !llvm.ptr) -> i32
llvm.func @pthread_cond_signal(!llvm.ptr) -> i32
llvm.func @pthread_cond_broadcast(!llvm.ptr) -> i32

func.func private @at(%block: !llvm.ptr, %offset: i64) -> !llvm.ptr {
  %place = llvm.getelementptr %block[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  return %place : !llvm.ptr
}

func.func private @lock(%crew: !llvm.ptr) {
  %64 = arith.constant 64 : i64
  %mutex = func.call @at(%crew, %64) : (!llvm.ptr, i64) -> !llvm.ptr
  llvm.call @pthread_mutex_lock(%mutex) : (!llvm.ptr) -> i32
  return
}

func.func private @unlock(%crew: !llvm.ptr) {
  %64 = arith.constant 64 : i64
  %mutex = func.call @at(%crew, %64) : (!llvm.ptr, i64) -> !llvm.ptr
  llvm.call @pthread_mutex_unlock(%mutex) : (!llvm.ptr) -> i32
  return
}

// Wait, awake, while the word is (`zero` true) or is not (`zero` false) 0; not for long.
func.func private @spin(%word: !llvm.ptr, %zero: i1, %rounds: i64) {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %last = scf.while (%round = %0) : (i64) -> i64 {
    %value = llvm.load %word atomic monotonic {alignment = 8 : i64} : !llvm.ptr -> i64
    %is_zero = arith.cmpi eq, %value, %0 : i64
    %waits = arith.cmpi eq, %is_zero, %zero : i1
    %more = arith.cmpi slt, %round, %rounds : i64
    %goes_on = arith.andi %waits, %more : i1
    scf.condition(%goes_on) %round : i64
  } do {
  ^bb0(%round: i64):
    func.call @pause() : () -> ()
    %next = arith.addi %round, %1 : i64
    scf.yield %next : i64
  }
  return
}

// Note that a slice failed, where none before it did.
func.func private @note(%job: !llvm.ptr, %slice: i64, %status: i64) {
  %0 = arith.constant 0 : i64
  %16 = arith.constant 16 : i64
  %64 = arith.constant 64 : i64
  %72 = arith.constant 72 : i64
  %at_crew = func.call @at(%job, %16) : (!llvm.ptr, i64) -> !llvm.ptr
  %crew = llvm.load %at_crew : !llvm.ptr -> !llvm.ptr
  %at_failed = func.call @at(%job, %64) : (!llvm.ptr, i64) -> !llvm.ptr
  %at_status = func.call @at(%job, %72) : (!llvm.ptr, i64) -> !llvm.ptr
  func.call @lock(%crew) : (!llvm.ptr) -> ()
  %failed = llvm.load %at_failed : !llvm.ptr -> i64
  %known = llvm.load %at_status : !llvm.ptr -> i64
  %is_first = arith.cmpi slt, %slice, %failed : i64
  %is_only = arith.cmpi eq, %known, %0 : i64
  %is_told = arith.ori %is_first, %is_only : i1
  scf.if %is_told {
    llvm.store %slice, %at_failed : i64, !llvm.ptr
    llvm.store %status, %at_status : i64, !llvm.ptr
  }
  func.call @unlock(%crew) : (!llvm.ptr) -> ()
  return
}

// Do slices of a job until there are none.
func.func private @work(%job: !llvm.ptr) {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %8 = arith.constant 8 : i64
  %24 = arith.constant 24 : i64
  %32 = arith.constant 32 : i64
  %function = llvm.load %job : !llvm.ptr -> !llvm.ptr
  %at_values = func.call @at(%job, %8) : (!llvm.ptr, i64) -> !llvm.ptr
  %values = llvm.load %at_values : !llvm.ptr -> !llvm.ptr
  %at_count = func.call @at(%job, %24) : (!llvm.ptr, i64) -> !llvm.ptr
  %count = llvm.load %at_count : !llvm.ptr -> i64
  %taken = func.call @at(%job, %32) : (!llvm.ptr, i64) -> !llvm.ptr
  %end = scf.while () : () -> i64 {
    %slice = llvm.atomicrmw add %taken, %1 acq_rel : !llvm.ptr, i64
    %more = arith.cmpi slt, %slice, %count : i64
    scf.condition(%more) %slice : i64
  } do {
  ^bb0(%slice: i64):
    %status = llvm.call %function(%values, %slice) : !llvm.ptr, (!llvm.ptr, i64) -> i64
    %fails = arith.cmpi ne, %status, %0 : i64
    scf.if %fails {
      func.call @note(%job, %slice, %status) : (!llvm.ptr, i64, i64) -> ()
    }
    scf.yield
  }
  return
}

// Note what a job consists of. It has no place for a helper yet.
func.func private @begin(%job: !llvm.ptr, %crew: !llvm.ptr, %function: !llvm.ptr,
                         %values: !llvm.ptr, %count: i64) {
  %0 = arith.constant 0 : i64
  %8 = arith.constant 8 : i64
  %16 = arith.constant 16 : i64
  %24 = arith.constant 24 : i64
  %32 = arith.constant 32 : i64
  %40 = arith.constant 40 : i64
  %80 = arith.constant 80 : i64
  %at_values = func.call @at(%job, %8) : (!llvm.ptr, i64) -> !llvm.ptr
  %at_crew = func.call @at(%job, %16) : (!llvm.ptr, i64) -> !llvm.ptr
  %at_count = func.call @at(%job, %24) : (!llvm.ptr, i64) -> !llvm.ptr
  llvm.store %function, %job : !llvm.ptr, !llvm.ptr
  llvm.store %values, %at_values : !llvm.ptr, !llvm.ptr
  llvm.store %crew, %at_crew : !llvm.ptr, !llvm.ptr
  llvm.store %count, %at_count : i64, !llvm.ptr
  scf.for %offset = %32 to %80 step %8 : i64 {
    %place = func.call @at(%job, %offset) : (!llvm.ptr, i64) -> !llvm.ptr
    llvm.store %0, %place : i64, !llvm.ptr
  }
  return
}

// The status of a job that is done.
func.func private @status(%job: !llvm.ptr) -> i64 {
  %72 = arith.constant 72 : i64
  %at_status = func.call @at(%job, %72) : (!llvm.ptr, i64) -> !llvm.ptr
  %status = llvm.load %at_status : !llvm.ptr -> i64
  return %status : i64
}

// A helper: takes part in one job after the other, for ever.
func.func @help(%crew: !llvm.ptr, %rounds: i64) attributes {llvm.emit_c_interface} {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %8 = arith.constant 8 : i64
  %16 = arith.constant 16 : i64
  %24 = arith.constant 24 : i64
  %40 = arith.constant 40 : i64
  %48 = arith.constant 48 : i64
  %56 = arith.constant 56 : i64
  %64 = arith.constant 64 : i64
  %128 = arith.constant 128 : i64
  %192 = arith.constant 192 : i64
  %true = arith.constant true
  %sleepers = func.call @at(%crew, %8) : (!llvm.ptr, i64) -> !llvm.ptr
  %callers = func.call @at(%crew, %16) : (!llvm.ptr, i64) -> !llvm.ptr
  %at_processor = func.call @at(%crew, %24) : (!llvm.ptr, i64) -> !llvm.ptr
  %mutex = func.call @at(%crew, %64) : (!llvm.ptr, i64) -> !llvm.ptr
  %awaits_job = func.call @at(%crew, %128) : (!llvm.ptr, i64) -> !llvm.ptr
  %awaits_end = func.call @at(%crew, %192) : (!llvm.ptr, i64) -> !llvm.ptr
  scf.while : () -> () {
    func.call @spin(%crew, %true, %rounds) : (!llvm.ptr, i1, i64) -> ()
    func.call @lock(%crew) : (!llvm.ptr) -> ()
    scf.while : () -> () {
      %newest = llvm.load %crew atomic monotonic {alignment = 8 : i64} : !llvm.ptr -> i64
      %waits = arith.cmpi eq, %newest, %0 : i64
      scf.condition(%waits)
    } do {
      %before = llvm.load %sleepers : !llvm.ptr -> i64
      %more = arith.addi %before, %1 : i64
      llvm.store %more, %sleepers : i64, !llvm.ptr
      llvm.call @pthread_cond_wait(%awaits_job, %mutex) : (!llvm.ptr, !llvm.ptr) -> i32
      %after = llvm.load %sleepers : !llvm.ptr -> i64
      %fewer = arith.subi %after, %1 : i64
      llvm.store %fewer, %sleepers : i64, !llvm.ptr
      %processor = llvm.load %at_processor atomic monotonic {alignment = 8 : i64} : !llvm.ptr -> i32
      func.call @unlock(%crew) : (!llvm.ptr) -> ()
      func.call @leave(%processor) : (i32) -> ()
      func.call @lock(%crew) : (!llvm.ptr) -> ()
      scf.yield
    }
    %newest = llvm.load %crew atomic monotonic {alignment = 8 : i64} : !llvm.ptr -> i64
    %job = llvm.inttoptr %newest : i64 to !llvm.ptr
    %at_places = func.call @at(%job, %40) : (!llvm.ptr, i64) -> !llvm.ptr
    %places = llvm.load %at_places : !llvm.ptr -> i64
    %left = arith.subi %places, %1 : i64
    llvm.store %left, %at_places : i64, !llvm.ptr
    %is_full = arith.cmpi eq, %left, %0 : i64
    scf.if %is_full {
      %at_next = func.call @at(%job, %56) : (!llvm.ptr, i64) -> !llvm.ptr
      %next = llvm.load %at_next : !llvm.ptr -> i64
      llvm.store %next, %crew atomic monotonic {alignment = 8 : i64} : i64, !llvm.ptr
    }
    %at_it = func.call @at(%job, %48) : (!llvm.ptr, i64) -> !llvm.ptr
    %others = llvm.atomicrmw add %at_it, %1 seq_cst : !llvm.ptr, i64
    func.call @unlock(%crew) : (!llvm.ptr) -> ()
    func.call @work(%job) : (!llvm.ptr) -> ()
    // From here on the job may be gone.
    %were = llvm.atomicrmw sub %at_it, %1 seq_cst : !llvm.ptr, i64
    %asleep = llvm.load %callers atomic seq_cst {alignment = 8 : i64} : !llvm.ptr -> i64
    %wakes = arith.cmpi ne, %asleep, %0 : i64
    scf.if %wakes {
      func.call @lock(%crew) : (!llvm.ptr) -> ()
      llvm.call @pthread_cond_broadcast(%awaits_end) : (!llvm.ptr) -> i32
      func.call @unlock(%crew) : (!llvm.ptr) -> ()
    }
    scf.condition(%true)
  } do {
    scf.yield
  }
  return
}

// Have a function called for each slice, by the caller and helpers. All is done afterwards; the
// status is that of the first slice that has one.
func.func @share(%context: !llvm.ptr, %function: !llvm.ptr, %values: !llvm.ptr,
                 %count: i64) -> i64 {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %8 = arith.constant 8 : i64
  %16 = arith.constant 16 : i64
  %24 = arith.constant 24 : i64
  %32 = arith.constant 32 : i64
  %40 = arith.constant 40 : i64
  %48 = arith.constant 48 : i64
  %56 = arith.constant 56 : i64
  %64 = arith.constant 64 : i64
  %128 = arith.constant 128 : i64
  %192 = arith.constant 192 : i64
  %false = arith.constant false
  %at_crew = func.call @at(%context, %8) : (!llvm.ptr, i64) -> !llvm.ptr
  %crew = llvm.load %at_crew : !llvm.ptr -> !llvm.ptr
  %at_helpers = func.call @at(%context, %16) : (!llvm.ptr, i64) -> !llvm.ptr
  %helpers_given = llvm.load %at_helpers : !llvm.ptr -> i64
  %fewer = arith.subi %count, %1 : i64
  %helpers = arith.minsi %helpers_given, %fewer : i64
  %sleepers = func.call @at(%crew, %8) : (!llvm.ptr, i64) -> !llvm.ptr
  %callers = func.call @at(%crew, %16) : (!llvm.ptr, i64) -> !llvm.ptr
  %at_rounds = func.call @at(%crew, %32) : (!llvm.ptr, i64) -> !llvm.ptr
  %rounds = llvm.load %at_rounds : !llvm.ptr -> i64
  %mutex = func.call @at(%crew, %64) : (!llvm.ptr, i64) -> !llvm.ptr
  %awaits_job = func.call @at(%crew, %128) : (!llvm.ptr, i64) -> !llvm.ptr
  %awaits_end = func.call @at(%crew, %192) : (!llvm.ptr, i64) -> !llvm.ptr

  %words = arith.constant 10 : i64
  %job = llvm.alloca %words x i64 {alignment = 64 : i64} : (i64) -> !llvm.ptr
  func.call @begin(%job, %crew, %function, %values, %count)
      : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
  %at_places = func.call @at(%job, %40) : (!llvm.ptr, i64) -> !llvm.ptr
  %at_it = func.call @at(%job, %48) : (!llvm.ptr, i64) -> !llvm.ptr
  %at_next = func.call @at(%job, %56) : (!llvm.ptr, i64) -> !llvm.ptr
  llvm.store %helpers, %at_places : i64, !llvm.ptr
  %at_processor = func.call @at(%crew, %24) : (!llvm.ptr, i64) -> !llvm.ptr
  %processor = func.call @processor() : () -> i32
  llvm.store %processor, %at_processor atomic monotonic {alignment = 8 : i64} : i32, !llvm.ptr
  %number = llvm.ptrtoint %job : !llvm.ptr to i64

  %is_shared = arith.cmpi sgt, %helpers, %0 : i64
  scf.if %is_shared {
    func.call @lock(%crew) : (!llvm.ptr) -> ()
    %older = llvm.load %crew atomic monotonic {alignment = 8 : i64} : !llvm.ptr -> i64
    llvm.store %older, %at_next : i64, !llvm.ptr
    llvm.store %number, %crew atomic monotonic {alignment = 8 : i64} : i64, !llvm.ptr
    %asleep = llvm.load %sleepers : !llvm.ptr -> i64
    func.call @unlock(%crew) : (!llvm.ptr) -> ()
    %woken = arith.minsi %asleep, %helpers : i64
    scf.for %_ = %0 to %woken step %1 : i64 {
      llvm.call @pthread_cond_signal(%awaits_job) : (!llvm.ptr) -> i32
    }
  }

  func.call @work(%job) : (!llvm.ptr) -> ()

  scf.if %is_shared {
    func.call @lock(%crew) : (!llvm.ptr) -> ()
    // Whatever points to the job points past it from now on.
    %places = llvm.load %at_places : !llvm.ptr -> i64
    %is_listed = arith.cmpi sgt, %places, %0 : i64
    scf.if %is_listed {
      %link = scf.while (%here = %crew) : (!llvm.ptr) -> !llvm.ptr {
        %target = llvm.load %here atomic monotonic {alignment = 8 : i64} : !llvm.ptr -> i64
        %is_other = arith.cmpi ne, %target, %number : i64
        scf.condition(%is_other) %here : !llvm.ptr
      } do {
      ^bb0(%here: !llvm.ptr):
        %target = llvm.load %here atomic monotonic {alignment = 8 : i64} : !llvm.ptr -> i64
        %other = llvm.inttoptr %target : i64 to !llvm.ptr
        %there = func.call @at(%other, %56) : (!llvm.ptr, i64) -> !llvm.ptr
        scf.yield %there : !llvm.ptr
      }
      %next = llvm.load %at_next : !llvm.ptr -> i64
      llvm.store %next, %link atomic monotonic {alignment = 8 : i64} : i64, !llvm.ptr
    }
    func.call @unlock(%crew) : (!llvm.ptr) -> ()
    func.call @spin(%at_it, %false, %rounds) : (!llvm.ptr, i1, i64) -> ()
    %busy = llvm.load %at_it atomic seq_cst {alignment = 8 : i64} : !llvm.ptr -> i64
    %sleeps = arith.cmpi ne, %busy, %0 : i64
    scf.if %sleeps {
      func.call @lock(%crew) : (!llvm.ptr) -> ()
      %before = llvm.atomicrmw add %callers, %1 seq_cst : !llvm.ptr, i64
      scf.while : () -> () {
        %others = llvm.load %at_it atomic seq_cst {alignment = 8 : i64} : !llvm.ptr -> i64
        %waits = arith.cmpi ne, %others, %0 : i64
        scf.condition(%waits)
      } do {
        llvm.call @pthread_cond_wait(%awaits_end, %mutex) : (!llvm.ptr, !llvm.ptr) -> i32
        scf.yield
      }
      %after = llvm.atomicrmw sub %callers, %1 seq_cst : !llvm.ptr, i64
      func.call @unlock(%crew) : (!llvm.ptr) -> ()
    }
  }

  %status = func.call @status(%job) : (!llvm.ptr) -> i64
  return %status : i64
}

// What each thread of a team does. In a job of a team there are
//   40   i64   how many threads have found no more slices
//   48   i64   how many threads have come
//   56   i64   how many had come when the first found no more
func.func @join(%job: !llvm.ptr) {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %40 = arith.constant 40 : i64
  %48 = arith.constant 48 : i64
  %56 = arith.constant 56 : i64
  %at_ended = func.call @at(%job, %40) : (!llvm.ptr, i64) -> !llvm.ptr
  %at_it = func.call @at(%job, %48) : (!llvm.ptr, i64) -> !llvm.ptr
  %at_come = func.call @at(%job, %56) : (!llvm.ptr, i64) -> !llvm.ptr
  %before = llvm.atomicrmw add %at_it, %1 seq_cst : !llvm.ptr, i64
  func.call @work(%job) : (!llvm.ptr) -> ()
  %ended = llvm.atomicrmw add %at_ended, %1 seq_cst : !llvm.ptr, i64
  %is_first = arith.cmpi eq, %ended, %0 : i64
  scf.if %is_first {
    %come = llvm.load %at_it atomic seq_cst {alignment = 8 : i64} : !llvm.ptr -> i64
    llvm.store %come, %at_come : i64, !llvm.ptr
  }
  return
}

// The same by a team of OpenMP's. OpenMP waits for every thread of it, those that come when all is
// done too: a team whose threads have gone to sleep, or lack a processor, is let alone for a while.
func.func @share_in_team(%context: !llvm.ptr, %function: !llvm.ptr, %values: !llvm.ptr,
                         %count: i64) -> i64 {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %8 = arith.constant 8 : i64
  %24 = arith.constant 24 : i64
  %32 = arith.constant 32 : i64
  %40 = arith.constant 40 : i64
  %48 = arith.constant 48 : i64
  %56 = arith.constant 56 : i64
  %at_rest = func.call @at(%context, %40) : (!llvm.ptr, i64) -> !llvm.ptr
  %rest = llvm.load %at_rest atomic monotonic {alignment = 8 : i64} : !llvm.ptr -> i64
  %rests = arith.cmpi sgt, %rest, %0 : i64
  %result = scf.if %rests -> i64 {
    %less = arith.subi %rest, %1 : i64
    llvm.store %less, %at_rest atomic monotonic {alignment = 8 : i64} : i64, !llvm.ptr
    %status = func.call @share(%context, %function, %values, %count)
        : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i64
    scf.yield %status : i64
  } else {
    %at_crew = func.call @at(%context, %8) : (!llvm.ptr, i64) -> !llvm.ptr
    %crew = llvm.load %at_crew : !llvm.ptr -> !llvm.ptr
    %at_parallel = func.call @at(%context, %24) : (!llvm.ptr, i64) -> !llvm.ptr
    %parallel = llvm.load %at_parallel : !llvm.ptr -> !llvm.ptr
    %at_threads = func.call @at(%context, %32) : (!llvm.ptr, i64) -> !llvm.ptr
    %threads = llvm.load %at_threads : !llvm.ptr -> i64
    %threads_narrow = arith.trunci %threads : i64 to i32
    %words = arith.constant 10 : i64
    %job = llvm.alloca %words x i64 {alignment = 64 : i64} : (i64) -> !llvm.ptr
    func.call @begin(%job, %crew, %function, %values, %count)
        : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
    %join = func.constant @join : (!llvm.ptr) -> ()
    %address = builtin.unrealized_conversion_cast %join : (!llvm.ptr) -> () to !llvm.ptr
    %no_flags = arith.constant 0 : i32
    llvm.call %parallel(%address, %job, %threads_narrow, %no_flags)
        : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
    %at_come = func.call @at(%job, %56) : (!llvm.ptr, i64) -> !llvm.ptr
    %come = llvm.load %at_come : !llvm.ptr -> i64
    %is_late = arith.cmpi slt, %come, %threads : i64
    func.call @let_alone(%context, %is_late) : (!llvm.ptr, i1) -> ()
    %status = func.call @status(%job) : (!llvm.ptr) -> i64
    scf.yield %status : i64
  }
  return %result : i64
}

// Note for how long a team is let alone: twice as long each time that it comes late anew.
func.func private @let_alone(%context: !llvm.ptr, %is_late: i1) {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %shortest = arith.constant 16 : i64
  %longest = arith.constant 1024 : i64
  %40 = arith.constant 40 : i64
  %48 = arith.constant 48 : i64
  %at_rest = func.call @at(%context, %40) : (!llvm.ptr, i64) -> !llvm.ptr
  %at_next = func.call @at(%context, %48) : (!llvm.ptr, i64) -> !llvm.ptr
  %next = llvm.load %at_next atomic monotonic {alignment = 8 : i64} : !llvm.ptr -> i64
  %known = arith.maxsi %next, %shortest : i64
  %rest = arith.select %is_late, %known, %0 : i64
  %twice = arith.shli %known, %1 : i64
  %longer = arith.minsi %twice, %longest : i64
  %after = arith.select %is_late, %longer, %shortest : i64
  llvm.store %rest, %at_rest atomic monotonic {alignment = 8 : i64} : i64, !llvm.ptr
  llvm.store %after, %at_next atomic monotonic {alignment = 8 : i64} : i64, !llvm.ptr
  return
}

// Where @share and @share_in_team are, for what compiled code is given.
func.func @addresses(%to: !llvm.ptr) attributes {llvm.emit_c_interface} {
  %8 = arith.constant 8 : i64
  %share = func.constant @share : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i64
  %address = builtin.unrealized_conversion_cast %share
      : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i64 to !llvm.ptr
  llvm.store %address, %to : !llvm.ptr, !llvm.ptr
  %in_team = func.constant @share_in_team : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i64
  %other = builtin.unrealized_conversion_cast %in_team
      : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i64 to !llvm.ptr
  %next = func.call @at(%to, %8) : (!llvm.ptr, i64) -> !llvm.ptr
  llvm.store %other, %next : !llvm.ptr, !llvm.ptr
  return
}

// Wait so many rounds for a word to be other than 0: how long a round takes can be seen from this.
func.func @wait(%word: !llvm.ptr, %rounds: i64) attributes {llvm.emit_c_interface} {
  %true = arith.constant true
  func.call @spin(%word, %true, %rounds) : (!llvm.ptr, i1, i64) -> ()
  return
}
