// The memory that intermediate results of calls are in: taken, given back, and used again.
//
// A pool is a block of memory:
//   0    ptr   @take
//   8    ptr   @give
//   16   i64   most bytes that may be idle
//   24   i64   bytes that are idle
//   32   i64   bytes that are in use
//   40   i64   how many blocks were mapped
//   48   i64   how many were used again
//   56   i64   how many were given back to the system
//   64   i64   how many blocks are idle
//   72   i64   what mmap is told, for memory of one's own
//   128        the mutex for the idle blocks
//   192        the idle blocks, 64 at most, those that came back last behind the others:
//              the address and the size of each, two i64
//
// A block has one of eight sizes between a power of two and the next, so that at most an eighth of
// it is unused, and is used again for what needs that size. Its size follows from what was asked
// for: it is written down nowhere while the block is in use. What is taken is never cleared.

llvm.func @mmap(!llvm.ptr, i64, i32, i32, i32, i64) -> !llvm.ptr
llvm.func @munmap(!llvm.ptr, i64) -> i32
llvm.func @pthread_mutex_lock(!llvm.ptr) -> i32
llvm.func @pthread_mutex_unlock(!llvm.ptr) -> i32

func.func private @at(%block: !llvm.ptr, %offset: i64) -> !llvm.ptr {
  %place = llvm.getelementptr %block[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  return %place : !llvm.ptr
}

func.func private @word(%pool: !llvm.ptr, %offset: i64) -> i64 {
  %place = func.call @at(%pool, %offset) : (!llvm.ptr, i64) -> !llvm.ptr
  %found = llvm.load %place : !llvm.ptr -> i64
  return %found : i64
}

func.func private @add(%pool: !llvm.ptr, %offset: i64, %more: i64) {
  %place = func.call @at(%pool, %offset) : (!llvm.ptr, i64) -> !llvm.ptr
  %before = llvm.atomicrmw add %place, %more monotonic : !llvm.ptr, i64
  return
}

func.func private @lock(%pool: !llvm.ptr) {
  %128 = arith.constant 128 : i64
  %mutex = func.call @at(%pool, %128) : (!llvm.ptr, i64) -> !llvm.ptr
  llvm.call @pthread_mutex_lock(%mutex) : (!llvm.ptr) -> i32
  return
}

func.func private @unlock(%pool: !llvm.ptr) {
  %128 = arith.constant 128 : i64
  %mutex = func.call @at(%pool, %128) : (!llvm.ptr, i64) -> !llvm.ptr
  llvm.call @pthread_mutex_unlock(%mutex) : (!llvm.ptr) -> i32
  return
}

// The size of a block for so many bytes, which are more than 64.
func.func private @rounded(%bytes: i64) -> i64 {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %60 = arith.constant 60 : i64
  %page = arith.constant 65536 : i64
  %last = arith.subi %bytes, %1 : i64
  %zeros = "llvm.intr.ctlz"(%last) <{is_zero_poison = false}> : (i64) -> i64
  %shift = arith.subi %60, %zeros : i64
  %eighth = arith.shli %1, %shift : i64
  %unit = arith.maxui %eighth, %page : i64
  %mask = arith.subi %0, %unit : i64
  %rest = arith.subi %unit, %1 : i64
  %beyond = arith.addi %bytes, %rest : i64
  %size = arith.andi %beyond, %mask : i64
  return %size : i64
}

// Memory of the system's, or null. Where it holds huge pages it starts at one.
func.func private @map(%pool: !llvm.ptr, %size: i64) -> !llvm.ptr {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %72 = arith.constant 72 : i64
  %none = arith.constant -1 : i32
  %read_and_write = arith.constant 3 : i32
  %huge = arith.constant 2097152 : i64
  %large = arith.constant 4194304 : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %flags_wide = func.call @word(%pool, %72) : (!llvm.ptr, i64) -> i64
  %flags = arith.trunci %flags_wide : i64 to i32
  %is_large = arith.cmpi uge, %size, %large : i64
  %more = arith.select %is_large, %huge, %0 : i64
  %room = arith.addi %size, %more : i64
  %base = llvm.call @mmap(%null, %room, %read_and_write, %flags, %none, %0)
      : (!llvm.ptr, i64, i32, i32, i32, i64) -> !llvm.ptr
  %number = llvm.ptrtoint %base : !llvm.ptr to i64
  %failed = arith.constant -1 : i64
  %fails = arith.cmpi eq, %number, %failed : i64
  cf.cond_br %fails, ^nothing, ^align
^nothing:
  return %null : !llvm.ptr
^align:
  %negated = arith.subi %0, %number : i64
  %rest = arith.subi %huge, %1 : i64
  %missing = arith.andi %negated, %rest : i64
  %head = arith.select %is_large, %missing, %0 : i64
  %start = func.call @at(%base, %head) : (!llvm.ptr, i64) -> !llvm.ptr
  %has_head = arith.cmpi ne, %head, %0 : i64
  scf.if %has_head {
    llvm.call @munmap(%base, %head) : (!llvm.ptr, i64) -> i32
  }
  %tail = arith.subi %more, %head : i64
  %has_tail = arith.cmpi ne, %tail, %0 : i64
  scf.if %has_tail {
    %end = func.call @at(%start, %size) : (!llvm.ptr, i64) -> !llvm.ptr
    llvm.call @munmap(%end, %tail) : (!llvm.ptr, i64) -> i32
  }
  return %start : !llvm.ptr
}

func.func private @unmap(%pool: !llvm.ptr, %block: !llvm.ptr, %size: i64) {
  %1 = arith.constant 1 : i64
  %56 = arith.constant 56 : i64
  llvm.call @munmap(%block, %size) : (!llvm.ptr, i64) -> i32
  func.call @add(%pool, %56, %1) : (!llvm.ptr, i64, i64) -> ()
  return
}

// Where the idle block `number` is written down.
func.func private @entry(%pool: !llvm.ptr, %number: i64) -> !llvm.ptr {
  %16 = arith.constant 16 : i64
  %192 = arith.constant 192 : i64
  %before = arith.muli %number, %16 : i64
  %offset = arith.addi %before, %192 : i64
  %place = func.call @at(%pool, %offset) : (!llvm.ptr, i64) -> !llvm.ptr
  return %place : !llvm.ptr
}

// Take the idle block `number` off the list; the mutex is held.
func.func private @remove(%pool: !llvm.ptr, %number: i64) -> (!llvm.ptr, i64) {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %8 = arith.constant 8 : i64
  %16 = arith.constant 16 : i64
  %24 = arith.constant 24 : i64
  %64 = arith.constant 64 : i64
  %less = arith.constant -1 : i64
  %entry = func.call @entry(%pool, %number) : (!llvm.ptr, i64) -> !llvm.ptr
  %block = llvm.load %entry : !llvm.ptr -> !llvm.ptr
  %size = func.call @word(%entry, %8) : (!llvm.ptr, i64) -> i64
  %count = func.call @word(%pool, %64) : (!llvm.ptr, i64) -> i64
  %behind = arith.subi %count, %number : i64
  %others = arith.subi %behind, %1 : i64
  %bytes = arith.muli %others, %16 : i64
  %next = func.call @at(%entry, %16) : (!llvm.ptr, i64) -> !llvm.ptr
  "llvm.intr.memmove"(%entry, %next, %bytes) <{isVolatile = false}>
      : (!llvm.ptr, !llvm.ptr, i64) -> ()
  func.call @add(%pool, %64, %less) : (!llvm.ptr, i64, i64) -> ()
  %taken = arith.subi %0, %size : i64
  func.call @add(%pool, %24, %taken) : (!llvm.ptr, i64, i64) -> ()
  return %block, %size : !llvm.ptr, i64
}

// An idle block of a size, the last that came back; null where there is none.
func.func private @idle(%pool: !llvm.ptr, %size: i64) -> !llvm.ptr {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %8 = arith.constant 8 : i64
  %64 = arith.constant 64 : i64
  func.call @lock(%pool) : (!llvm.ptr) -> ()
  %count = func.call @word(%pool, %64) : (!llvm.ptr, i64) -> i64
  cf.br ^look(%count : i64)
^look(%behind: i64):
  %more = arith.cmpi ne, %behind, %0 : i64
  cf.cond_br %more, ^compare, ^none
^compare:
  %number = arith.subi %behind, %1 : i64
  %entry = func.call @entry(%pool, %number) : (!llvm.ptr, i64) -> !llvm.ptr
  %its = func.call @word(%entry, %8) : (!llvm.ptr, i64) -> i64
  %fits = arith.cmpi eq, %its, %size : i64
  cf.cond_br %fits, ^found, ^look(%number : i64)
^found:
  %block, %same = func.call @remove(%pool, %number) : (!llvm.ptr, i64) -> (!llvm.ptr, i64)
  func.call @unlock(%pool) : (!llvm.ptr) -> ()
  return %block : !llvm.ptr
^none:
  func.call @unlock(%pool) : (!llvm.ptr) -> ()
  %null = llvm.mlir.zero : !llvm.ptr
  return %null : !llvm.ptr
}

// Memory for so many bytes, at the start of a page; null where the system has none.
func.func @take(%pool: !llvm.ptr, %bytes: i64) -> !llvm.ptr {
  %1 = arith.constant 1 : i64
  %32 = arith.constant 32 : i64
  %40 = arith.constant 40 : i64
  %48 = arith.constant 48 : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %size = func.call @rounded(%bytes) : (i64) -> i64
  %idle = func.call @idle(%pool, %size) : (!llvm.ptr, i64) -> !llvm.ptr
  %is_there = llvm.icmp "ne" %idle, %null : !llvm.ptr
  cf.cond_br %is_there, ^given(%idle, %48 : !llvm.ptr, i64), ^new
^new:
  %fresh = func.call @map(%pool, %size) : (!llvm.ptr, i64) -> !llvm.ptr
  %is_had = llvm.icmp "ne" %fresh, %null : !llvm.ptr
  cf.cond_br %is_had, ^given(%fresh, %40 : !llvm.ptr, i64), ^again
^again:
  // Room there may be once the idle blocks are gone.
  func.call @clear(%pool) : (!llvm.ptr) -> ()
  %last = func.call @map(%pool, %size) : (!llvm.ptr, i64) -> !llvm.ptr
  %is_good = llvm.icmp "ne" %last, %null : !llvm.ptr
  cf.cond_br %is_good, ^given(%last, %40 : !llvm.ptr, i64), ^nothing
^given(%block: !llvm.ptr, %counter: i64):
  func.call @add(%pool, %counter, %1) : (!llvm.ptr, i64, i64) -> ()
  func.call @add(%pool, %32, %size) : (!llvm.ptr, i64, i64) -> ()
  return %block : !llvm.ptr
^nothing:
  return %null : !llvm.ptr
}

// Give back what was taken for so many bytes: it is idle, or the system's again.
func.func @give(%pool: !llvm.ptr, %block: !llvm.ptr, %bytes: i64) {
  %0 = arith.constant 0 : i64
  %8 = arith.constant 8 : i64
  %16 = arith.constant 16 : i64
  %1 = arith.constant 1 : i64
  %24 = arith.constant 24 : i64
  %32 = arith.constant 32 : i64
  %64 = arith.constant 64 : i64
  %size = func.call @rounded(%bytes) : (i64) -> i64
  %returned = arith.subi %0, %size : i64
  func.call @add(%pool, %32, %returned) : (!llvm.ptr, i64, i64) -> ()
  %limit = func.call @word(%pool, %16) : (!llvm.ptr, i64) -> i64
  %may_stay = arith.cmpi sle, %size, %limit : i64
  cf.cond_br %may_stay, ^look, ^unmap
^look:
  func.call @lock(%pool) : (!llvm.ptr) -> ()
  %count = func.call @word(%pool, %64) : (!llvm.ptr, i64) -> i64
  %idle = func.call @word(%pool, %24) : (!llvm.ptr, i64) -> i64
  %then = arith.addi %idle, %size : i64
  %is_within = arith.cmpi sle, %then, %limit : i64
  %has_place = arith.cmpi slt, %count, %64 : i64
  %fits = arith.andi %is_within, %has_place : i1
  cf.cond_br %fits, ^keep, ^make_room
^keep:
  %entry = func.call @entry(%pool, %count) : (!llvm.ptr, i64) -> !llvm.ptr
  llvm.store %block, %entry : !llvm.ptr, !llvm.ptr
  %at_size = func.call @at(%entry, %8) : (!llvm.ptr, i64) -> !llvm.ptr
  llvm.store %size, %at_size : i64, !llvm.ptr
  func.call @add(%pool, %64, %1) : (!llvm.ptr, i64, i64) -> ()
  func.call @add(%pool, %24, %size) : (!llvm.ptr, i64, i64) -> ()
  func.call @unlock(%pool) : (!llvm.ptr) -> ()
  return
^make_room:
  // There is one: a block that is not too large fits among none.
  %oldest, %freed = func.call @remove(%pool, %0) : (!llvm.ptr, i64) -> (!llvm.ptr, i64)
  func.call @unlock(%pool) : (!llvm.ptr) -> ()
  func.call @unmap(%pool, %oldest, %freed) : (!llvm.ptr, !llvm.ptr, i64) -> ()
  cf.br ^look
^unmap:
  func.call @unmap(%pool, %block, %size) : (!llvm.ptr, !llvm.ptr, i64) -> ()
  return
}

// Give all idle blocks back to the system.
func.func @clear(%pool: !llvm.ptr) attributes {llvm.emit_c_interface} {
  %0 = arith.constant 0 : i64
  %64 = arith.constant 64 : i64
  cf.br ^look
^look:
  func.call @lock(%pool) : (!llvm.ptr) -> ()
  %count = func.call @word(%pool, %64) : (!llvm.ptr, i64) -> i64
  %more = arith.cmpi ne, %count, %0 : i64
  cf.cond_br %more, ^next, ^done
^next:
  %oldest, %freed = func.call @remove(%pool, %0) : (!llvm.ptr, i64) -> (!llvm.ptr, i64)
  func.call @unlock(%pool) : (!llvm.ptr) -> ()
  func.call @unmap(%pool, %oldest, %freed) : (!llvm.ptr, !llvm.ptr, i64) -> ()
  cf.br ^look
^done:
  func.call @unlock(%pool) : (!llvm.ptr) -> ()
  return
}

// Write down where @take and @give are, in the first two words of a pool.
func.func @address(%pool: !llvm.ptr) attributes {llvm.emit_c_interface} {
  %8 = arith.constant 8 : i64
  %take = func.constant @take : (!llvm.ptr, i64) -> !llvm.ptr
  %give = func.constant @give : (!llvm.ptr, !llvm.ptr, i64) -> ()
  %address_of_take = builtin.unrealized_conversion_cast %take
      : (!llvm.ptr, i64) -> !llvm.ptr to !llvm.ptr
  %address_of_give = builtin.unrealized_conversion_cast %give
      : (!llvm.ptr, !llvm.ptr, i64) -> () to !llvm.ptr
  llvm.store %address_of_take, %pool : !llvm.ptr, !llvm.ptr
  %second = func.call @at(%pool, %8) : (!llvm.ptr, i64) -> !llvm.ptr
  llvm.store %address_of_give, %second : !llvm.ptr, !llvm.ptr
  return
}
