// A call of an object of Python's, from the interpreter to native code and back.
//
// The object holds a list of records (see call_record.py). A record says what the arguments of a
// call must be, and what is run then. Whatever fits no record goes to the object's `__call__`, and
// so does every call that would need more than a yes: a copy, a conversion, an error.
//
// All of it holds the GIL, but for the native code that is run. Nothing here runs code of Python's
// before the arguments are known to fit; from then on the record is held, and with it what it needs.
//
// The words of a record, 8 bytes each:
//     0 the world        1 native code           2 positional arguments    3 results
//     4 frame            5 words of the frame    6 words that hold places  7 how many they are
//     8 context          9 settings in force    10 entries                11 what reports failures
//    12 whether it makes its results    13 whether it takes out=    14 what the last run took
//    15 whether the GIL is always free    16 names of keywords but out=    17 how many they are
//    18 whether its result, one without axes, is given as a number
// of an entry, one for each argument, those of keywords last, and then one for each result:
//     0 kind (0 an array, 1 a number, 2 a text, 3 this very object, 4 integers in a list or tuple)
//     1 word in the frame    2, 3 types
//     4 flags or form    5 rank, least or how many    6 sizes, most or which    7 strides, or float
//     8 bytes
//     9 whether it is written    10 unused bits, or the word of a number in memory
//    11 dtype, or int
// of the world:
//     0 numpy.ndarray    1 "out"    2 None    3 "__call__"    4 PyArray_NewFromDescr
//     5 ticks of a short run    6 PyArray_Return

llvm.func @Py_IncRef(!llvm.ptr)
llvm.func @Py_DecRef(!llvm.ptr)
llvm.func @PyErr_Clear()
llvm.func @PyErr_NoMemory() -> !llvm.ptr
llvm.func @PyMem_Malloc(i64) -> !llvm.ptr
llvm.func @PyMem_Free(!llvm.ptr)
llvm.func @PyEval_SaveThread() -> !llvm.ptr
llvm.func @PyEval_RestoreThread(!llvm.ptr)
llvm.func @PyContextVar_Get(!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
llvm.func @PyLong_FromLongLong(i64) -> !llvm.ptr
llvm.func @PyLong_AsLongLongAndOverflow(!llvm.ptr, !llvm.ptr) -> i64
llvm.func @PyObject_CallOneArg(!llvm.ptr, !llvm.ptr) -> !llvm.ptr
llvm.func @PyObject_VectorcallMethod(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
llvm.func @PyTuple_New(i64) -> !llvm.ptr
llvm.func @PyUnicode_Compare(!llvm.ptr, !llvm.ptr) -> i32

// The word at an offset in bytes, as a number and as a place.
func.func private @word(%of: !llvm.ptr, %offset: i64) -> i64 {
  %at = llvm.getelementptr %of[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %found = llvm.load %at : !llvm.ptr -> i64
  return %found : i64
}

func.func private @place(%of: !llvm.ptr, %offset: i64) -> !llvm.ptr {
  %at = llvm.getelementptr %of[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %found = llvm.load %at : !llvm.ptr -> !llvm.ptr
  return %found : !llvm.ptr
}

// Element `number` of an array of words.
func.func private @element(%of: !llvm.ptr, %number: i64) -> i64 {
  %at = llvm.getelementptr %of[%number] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %found = llvm.load %at : !llvm.ptr -> i64
  return %found : i64
}

func.func private @store(%value: i64, %of: !llvm.ptr, %number: i64) {
  %at = llvm.getelementptr %of[%number] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  llvm.store %value, %at : i64, !llvm.ptr
  return
}

func.func private @entry(%record: !llvm.ptr, %number: i64) -> !llvm.ptr {
  %80 = arith.constant 80 : i64
  %96 = arith.constant 96 : i64
  %entries = func.call @place(%record, %80) : (!llvm.ptr, i64) -> !llvm.ptr
  %offset = arith.muli %number, %96 : i64
  %entry = llvm.getelementptr %entries[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  return %entry : !llvm.ptr
}

// Whether the first `count` words of both are the same.
func.func private @are_same(%one: !llvm.ptr, %other: !llvm.ptr, %count: i64) -> i1 {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %true = arith.constant true
  %false = arith.constant false
  cf.br ^next(%0 : i64)
^next(%axis: i64):
  %more = arith.cmpi slt, %axis, %count : i64
  cf.cond_br %more, ^compare, ^same
^compare:
  %a = func.call @element(%one, %axis) : (!llvm.ptr, i64) -> i64
  %b = func.call @element(%other, %axis) : (!llvm.ptr, i64) -> i64
  %equal = arith.cmpi eq, %a, %b : i64
  %after = arith.addi %axis, %1 : i64
  cf.cond_br %equal, ^next(%after : i64), ^other
^same:
  return %true : i1
^other:
  return %false : i1
}

// Whether the strides are those wanted, wherever an axis has more than one element.
func.func private @lies_so(%strides: !llvm.ptr, %wanted: !llvm.ptr, %sizes: !llvm.ptr,
                           %rank: i64) -> i1 {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %true = arith.constant true
  %false = arith.constant false
  cf.br ^next(%0 : i64)
^next(%axis: i64):
  %more = arith.cmpi slt, %axis, %rank : i64
  cf.cond_br %more, ^compare, ^same
^compare:
  %a = func.call @element(%strides, %axis) : (!llvm.ptr, i64) -> i64
  %b = func.call @element(%wanted, %axis) : (!llvm.ptr, i64) -> i64
  %size = func.call @element(%sizes, %axis) : (!llvm.ptr, i64) -> i64
  %equal = arith.cmpi eq, %a, %b : i64
  %single = arith.cmpi eq, %size, %1 : i64
  %fits = arith.ori %equal, %single : i1
  %after = arith.addi %axis, %1 : i64
  cf.cond_br %fits, ^next(%after : i64), ^other
^same:
  return %true : i1
^other:
  return %false : i1
}

// Whether the bits of `unused` are clear in each of `bytes` bytes. Of more than a mebibyte NumPy says
// so, about as quickly and without the interpreter waiting.
func.func private @are_clear(%data: !llvm.ptr, %bytes: i64, %unused: i64) -> i1 {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %8 = arith.constant 8 : i64
  %64 = arith.constant 64 : i64
  %most = arith.constant 1048576 : i64
  %false = arith.constant false
  %none = arith.constant dense<0> : vector<8xi64>
  %is_much = arith.cmpi sgt, %bytes, %most : i64
  cf.cond_br %is_much, ^much, ^lines(%0, %none : i64, vector<8xi64>)
^lines(%line: i64, %seen_lines: vector<8xi64>):
  %line_end = arith.addi %line, %64 : i64
  %is_line = arith.cmpi sle, %line_end, %bytes : i64
  cf.cond_br %is_line, ^line, ^reduced
^line:
  %line_address = llvm.getelementptr %data[%line] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %loaded = llvm.load %line_address {alignment = 1 : i64} : !llvm.ptr -> vector<8xi64>
  %seen_line = arith.ori %seen_lines, %loaded : vector<8xi64>
  cf.br ^lines(%line_end, %seen_line : i64, vector<8xi64>)
^reduced:
  %of_lines = "llvm.intr.vector.reduce.or"(%seen_lines) : (vector<8xi64>) -> i64
  cf.br ^words(%line, %of_lines : i64, i64)
^words(%at: i64, %seen: i64):
  %end = arith.addi %at, %8 : i64
  %whole = arith.cmpi sle, %end, %bytes : i64
  cf.cond_br %whole, ^word, ^bytes(%at, %seen : i64, i64)
^word:
  %eight = func.call @word(%data, %at) : (!llvm.ptr, i64) -> i64
  %seen_eight = arith.ori %seen, %eight : i64
  cf.br ^words(%end, %seen_eight : i64, i64)
^bytes(%left: i64, %seen_before: i64):
  %more = arith.cmpi slt, %left, %bytes : i64
  cf.cond_br %more, ^byte, ^all
^byte:
  %address = llvm.getelementptr %data[%left] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %narrow = llvm.load %address : !llvm.ptr -> i8
  %wide = arith.extui %narrow : i8 to i64
  %seen_one = arith.ori %seen_before, %wide : i64
  %after = arith.addi %left, %1 : i64
  cf.br ^bytes(%after, %seen_one : i64, i64)
^all:
  %found = arith.andi %seen_before, %unused : i64
  %clear = arith.cmpi eq, %found, %0 : i64
  return %clear : i1
^much:
  return %false : i1
}

// Whether a value is an array as an entry says.
//
// Of PyArrayObject: data at 16, rank at 24, sizes at 32, strides at 40, dtype at 56, flags at 64;
// of PyArray_Descr the byte order at 26.
func.func private @is_array(%value: !llvm.ptr, %entry: !llvm.ptr, %world: !llvm.ptr) -> i1 {
  %0 = arith.constant 0 : i64
  %8 = arith.constant 8 : i64
  %16 = arith.constant 16 : i64
  %24 = arith.constant 24 : i64
  %32 = arith.constant 32 : i64
  %40 = arith.constant 40 : i64
  %48 = arith.constant 48 : i64
  %56 = arith.constant 56 : i64
  %64 = arith.constant 64 : i64
  %80 = arith.constant 80 : i64
  %false = arith.constant false
  %type = func.call @word(%value, %8) : (!llvm.ptr, i64) -> i64
  %ndarray = func.call @word(%world, %0) : (!llvm.ptr, i64) -> i64
  %is_exact = arith.cmpi eq, %type, %ndarray : i64
  cf.cond_br %is_exact, ^rank, ^no
^rank:
  %at_rank = llvm.getelementptr %value[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %narrow_rank = llvm.load %at_rank : !llvm.ptr -> i32
  %rank = arith.extsi %narrow_rank : i32 to i64
  %wanted_rank = func.call @word(%entry, %40) : (!llvm.ptr, i64) -> i64
  %has_rank = arith.cmpi eq, %rank, %wanted_rank : i64
  cf.cond_br %has_rank, ^sizes, ^no
^sizes:
  %sizes = func.call @place(%value, %32) : (!llvm.ptr, i64) -> !llvm.ptr
  %wanted_sizes = func.call @place(%entry, %48) : (!llvm.ptr, i64) -> !llvm.ptr
  %has_sizes = func.call @are_same(%sizes, %wanted_sizes, %rank)
      : (!llvm.ptr, !llvm.ptr, i64) -> i1
  cf.cond_br %has_sizes, ^dtype, ^no
^dtype:
  %dtype = func.call @place(%value, %56) : (!llvm.ptr, i64) -> !llvm.ptr
  %dtype_type = func.call @word(%dtype, %8) : (!llvm.ptr, i64) -> i64
  %first = func.call @word(%entry, %16) : (!llvm.ptr, i64) -> i64
  %second = func.call @word(%entry, %24) : (!llvm.ptr, i64) -> i64
  %is_first = arith.cmpi eq, %dtype_type, %first : i64
  %is_second = arith.cmpi eq, %dtype_type, %second : i64
  %is_known = arith.ori %is_first, %is_second : i1
  cf.cond_br %is_known, ^order, ^no
^order:
  %at_order = llvm.getelementptr %dtype[26] : (!llvm.ptr) -> !llvm.ptr, i8
  %order = llvm.load %at_order : !llvm.ptr -> i8
  %machine = arith.constant 61 : i8  // '='
  %none = arith.constant 124 : i8    // '|'
  %is_machine = arith.cmpi eq, %order, %machine : i8
  %is_none = arith.cmpi eq, %order, %none : i8
  %is_native = arith.ori %is_machine, %is_none : i1
  cf.cond_br %is_native, ^flags, ^no
^flags:
  %at_flags = llvm.getelementptr %value[64] : (!llvm.ptr) -> !llvm.ptr, i8
  %narrow_flags = llvm.load %at_flags : !llvm.ptr -> i32
  %flags = arith.extui %narrow_flags : i32 to i64
  %wanted_flags = func.call @word(%entry, %32) : (!llvm.ptr, i64) -> i64
  %common = arith.andi %flags, %wanted_flags : i64
  %has_flags = arith.cmpi eq, %common, %wanted_flags : i64
  cf.cond_br %has_flags, ^strides, ^no
^strides:
  %wanted_strides = func.call @place(%entry, %56) : (!llvm.ptr, i64) -> !llvm.ptr
  %strides_number = llvm.ptrtoint %wanted_strides : !llvm.ptr to i64
  %is_free = arith.cmpi eq, %strides_number, %0 : i64
  cf.cond_br %is_free, ^bits, ^steps
^steps:
  %strides = func.call @place(%value, %40) : (!llvm.ptr, i64) -> !llvm.ptr
  %lies_so = func.call @lies_so(%strides, %wanted_strides, %sizes, %rank)
      : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i1
  cf.cond_br %lies_so, ^bits, ^no
^bits:
  %unused = func.call @word(%entry, %80) : (!llvm.ptr, i64) -> i64
  %has_no_unused = arith.cmpi eq, %unused, %0 : i64
  cf.cond_br %has_no_unused, ^yes, ^look
^look:
  %data = func.call @place(%value, %16) : (!llvm.ptr, i64) -> !llvm.ptr
  %bytes = func.call @word(%entry, %64) : (!llvm.ptr, i64) -> i64
  %are_clear = func.call @are_clear(%data, %bytes, %unused) : (!llvm.ptr, i64, i64) -> i1
  return %are_clear : i1
^yes:
  %true = arith.constant true
  return %true : i1
^no:
  return %false : i1
}

// Whether a value is a number as an entry says; its bits are then in the word at `to`.
//
// The form is 0 for an integer, 1 for a float of 32 bits, 2 for one of 64. A float of Python's and
// the numbers of NumPy hold their value at 16. No float is taken for an integer.
func.func private @is_number(%value: !llvm.ptr, %entry: !llvm.ptr, %to: !llvm.ptr) -> i1 {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %8 = arith.constant 8 : i64
  %16 = arith.constant 16 : i64
  %24 = arith.constant 24 : i64
  %32 = arith.constant 32 : i64
  %40 = arith.constant 40 : i64
  %48 = arith.constant 48 : i64
  %56 = arith.constant 56 : i64
  %88 = arith.constant 88 : i64
  %true = arith.constant true
  %false = arith.constant false
  %form = func.call @word(%entry, %32) : (!llvm.ptr, i64) -> i64
  %type = func.call @word(%value, %8) : (!llvm.ptr, i64) -> i64
  %first = func.call @word(%entry, %16) : (!llvm.ptr, i64) -> i64
  %second = func.call @word(%entry, %24) : (!llvm.ptr, i64) -> i64
  %is_first = arith.cmpi eq, %type, %first : i64
  %is_second = arith.cmpi eq, %type, %second : i64
  %is_plain = arith.ori %is_first, %is_second : i1
  cf.cond_br %is_plain, ^plain, ^python
^plain:
  %bits = func.call @word(%value, %16) : (!llvm.ptr, i64) -> i64
  llvm.store %bits, %to : i64, !llvm.ptr
  return %true : i1
^python:
  %float = func.call @word(%entry, %56) : (!llvm.ptr, i64) -> i64
  %int = func.call @word(%entry, %88) : (!llvm.ptr, i64) -> i64
  %is_float = arith.cmpi eq, %type, %float : i64
  %is_int = arith.cmpi eq, %type, %int : i64
  cf.cond_br %is_float, ^float, ^perhaps_int
^float:
  %at_value = llvm.getelementptr %value[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %number = llvm.load %at_value : !llvm.ptr -> f64
  cf.br ^as_float(%number : f64)
^perhaps_int:
  cf.cond_br %is_int, ^int, ^no
^int:
  %overflow = llvm.alloca %1 x i32 : (i64) -> !llvm.ptr
  %integer = llvm.call @PyLong_AsLongLongAndOverflow(%value, %overflow)
      : (!llvm.ptr, !llvm.ptr) -> i64
  %which = llvm.load %overflow : !llvm.ptr -> i32
  %no_overflow = arith.constant 0 : i32
  %is_held = arith.cmpi eq, %which, %no_overflow : i32
  %least = func.call @word(%entry, %40) : (!llvm.ptr, i64) -> i64
  %most = func.call @word(%entry, %48) : (!llvm.ptr, i64) -> i64
  %is_enough = arith.cmpi sge, %integer, %least : i64
  %is_little = arith.cmpi sle, %integer, %most : i64
  %is_between = arith.andi %is_enough, %is_little : i1
  %fits = arith.andi %is_held, %is_between : i1
  cf.cond_br %fits, ^fits, ^no
^fits:
  %is_whole = arith.cmpi eq, %form, %0 : i64
  %converted = arith.sitofp %integer : i64 to f64
  cf.cond_br %is_whole, ^whole, ^as_float(%converted : f64)
^whole:
  llvm.store %integer, %to : i64, !llvm.ptr
  return %true : i1
^as_float(%wide: f64):
  %is_narrow = arith.cmpi eq, %form, %1 : i64
  cf.cond_br %is_narrow, ^narrow, ^wide
^narrow:
  // NumPy warns of a number that becomes infinite.
  %greatest = arith.constant 3.4028235677973366e+38 : f64
  %lowest = arith.constant -3.4028235677973366e+38 : f64
  %is_too_great = arith.cmpf oge, %wide, %greatest : f64
  %is_too_low = arith.cmpf ole, %wide, %lowest : f64
  %is_beyond = arith.ori %is_too_great, %is_too_low : i1
  cf.cond_br %is_beyond, ^no, ^round
^round:
  %rounded = arith.truncf %wide : f64 to f32
  llvm.store %rounded, %to : f32, !llvm.ptr
  return %true : i1
^wide:
  llvm.store %wide, %to : f64, !llvm.ptr
  return %true : i1
^no:
  return %false : i1
}

// Whether a value is the text of an entry.
func.func private @is_text(%value: !llvm.ptr, %entry: !llvm.ptr) -> i1 {
  %8 = arith.constant 8 : i64
  %16 = arith.constant 16 : i64
  %24 = arith.constant 24 : i64
  %false = arith.constant false
  %true = arith.constant true
  %wanted = func.call @place(%entry, %16) : (!llvm.ptr, i64) -> !llvm.ptr
  %one = llvm.ptrtoint %value : !llvm.ptr to i64
  %other = llvm.ptrtoint %wanted : !llvm.ptr to i64
  %is_it = arith.cmpi eq, %one, %other : i64
  cf.cond_br %is_it, ^yes, ^type
^type:
  %type = func.call @word(%value, %8) : (!llvm.ptr, i64) -> i64
  %wanted_type = func.call @word(%entry, %24) : (!llvm.ptr, i64) -> i64
  %is_text = arith.cmpi eq, %type, %wanted_type : i64
  cf.cond_br %is_text, ^compare, ^no
^compare:
  %equal = arith.constant 0 : i32
  %order = llvm.call @PyUnicode_Compare(%value, %wanted) : (!llvm.ptr, !llvm.ptr) -> i32
  %is_equal = arith.cmpi eq, %order, %equal : i32
  return %is_equal : i1
^yes:
  return %true : i1
^no:
  return %false : i1
}

// Whether a value is a list or a tuple of the integers of an entry.
func.func private @are_integers(%value: !llvm.ptr, %entry: !llvm.ptr) -> i1 {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %8 = arith.constant 8 : i64
  %16 = arith.constant 16 : i64
  %24 = arith.constant 24 : i64
  %40 = arith.constant 40 : i64
  %48 = arith.constant 48 : i64
  %88 = arith.constant 88 : i64
  %no_overflow = arith.constant 0 : i32
  %true = arith.constant true
  %false = arith.constant false
  %overflow = llvm.alloca %1 x i32 : (i64) -> !llvm.ptr
  %type = func.call @word(%value, %8) : (!llvm.ptr, i64) -> i64
  %list = func.call @word(%entry, %16) : (!llvm.ptr, i64) -> i64
  %tuple = func.call @word(%entry, %24) : (!llvm.ptr, i64) -> i64
  %is_list = arith.cmpi eq, %type, %list : i64
  %is_tuple = arith.cmpi eq, %type, %tuple : i64
  %is_either = arith.ori %is_list, %is_tuple : i1
  cf.cond_br %is_either, ^size, ^no
^size:
  %size = func.call @word(%value, %16) : (!llvm.ptr, i64) -> i64
  %wanted_size = func.call @word(%entry, %40) : (!llvm.ptr, i64) -> i64
  %has_size = arith.cmpi eq, %size, %wanted_size : i64
  cf.cond_br %has_size, ^items, ^no
^items:
  // A list has a pointer to its items at 24, a tuple the items themselves.
  %inside = llvm.getelementptr %value[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %outside = func.call @place(%value, %24) : (!llvm.ptr, i64) -> !llvm.ptr
  %items = arith.select %is_list, %outside, %inside : !llvm.ptr
  %wanted = func.call @place(%entry, %48) : (!llvm.ptr, i64) -> !llvm.ptr
  %int = func.call @word(%entry, %88) : (!llvm.ptr, i64) -> i64
  cf.br ^next(%0 : i64)
^next(%at: i64):
  %more = arith.cmpi slt, %at, %size : i64
  cf.cond_br %more, ^item, ^yes
^item:
  %at_item = llvm.getelementptr %items[%at] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %item = llvm.load %at_item : !llvm.ptr -> !llvm.ptr
  %item_type = func.call @word(%item, %8) : (!llvm.ptr, i64) -> i64
  %is_int = arith.cmpi eq, %item_type, %int : i64
  cf.cond_br %is_int, ^number, ^no
^number:
  %number = llvm.call @PyLong_AsLongLongAndOverflow(%item, %overflow)
      : (!llvm.ptr, !llvm.ptr) -> i64
  %which = llvm.load %overflow : !llvm.ptr -> i32
  %is_held = arith.cmpi eq, %which, %no_overflow : i32
  %wanted_number = func.call @element(%wanted, %at) : (!llvm.ptr, i64) -> i64
  %is_equal = arith.cmpi eq, %number, %wanted_number : i64
  %is_it = arith.andi %is_held, %is_equal : i1
  %after = arith.addi %at, %1 : i64
  cf.cond_br %is_it, ^next(%after : i64), ^no
^yes:
  return %true : i1
^no:
  return %false : i1
}

// Whether the names of a call's keywords, but for the one at `out_at`, are those of a record.
func.func private @has_names(%record: !llvm.ptr, %names: !llvm.ptr, %named: i64,
                             %out_at: i64) -> i1 {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %3 = arith.constant 3 : i64
  %128 = arith.constant 128 : i64
  %136 = arith.constant 136 : i64
  %true = arith.constant true
  %false = arith.constant false
  %wanted = func.call @place(%record, %128) : (!llvm.ptr, i64) -> !llvm.ptr
  %wanted_count = func.call @word(%record, %136) : (!llvm.ptr, i64) -> i64
  %is_as_many = arith.cmpi eq, %named, %wanted_count : i64
  cf.cond_br %is_as_many, ^next(%0 : i64), ^no
^next(%at: i64):
  %more = arith.cmpi slt, %at, %named : i64
  cf.cond_br %more, ^compare, ^yes
^compare:
  // The items of a tuple begin at its word 3.
  %is_behind = arith.cmpi sge, %at, %out_at : i64
  %shift = arith.extui %is_behind : i1 to i64
  %place = arith.addi %at, %shift : i64
  %item = arith.addi %place, %3 : i64
  %name = func.call @element(%names, %item) : (!llvm.ptr, i64) -> i64
  %wanted_name = func.call @element(%wanted, %at) : (!llvm.ptr, i64) -> i64
  %is_it = arith.cmpi eq, %name, %wanted_name : i64
  %after = arith.addi %at, %1 : i64
  cf.cond_br %is_it, ^next(%after : i64), ^no
^yes:
  return %true : i1
^no:
  return %false : i1
}

// Whether what is in force is what a record was made for.
func.func private @is_in_force(%record: !llvm.ptr) -> i1 {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %64 = arith.constant 64 : i64
  %72 = arith.constant 72 : i64
  %true = arith.constant true
  %false = arith.constant false
  %null = llvm.mlir.zero : !llvm.ptr
  %pairs = func.call @place(%record, %64) : (!llvm.ptr, i64) -> !llvm.ptr
  %count = func.call @word(%record, %72) : (!llvm.ptr, i64) -> i64
  %to = llvm.alloca %1 x !llvm.ptr : (i64) -> !llvm.ptr
  cf.br ^next(%0 : i64)
^next(%number: i64):
  %more = arith.cmpi slt, %number, %count : i64
  cf.cond_br %more, ^ask, ^yes
^ask:
  %at_variable = llvm.getelementptr %pairs[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<2 x ptr>
  %variable = llvm.load %at_variable : !llvm.ptr -> !llvm.ptr
  %8 = arith.constant 8 : i64
  %wanted = func.call @word(%at_variable, %8) : (!llvm.ptr, i64) -> i64
  %failed = llvm.call @PyContextVar_Get(%variable, %null, %to)
      : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  %well = arith.constant 0 : i32
  %is_well = arith.cmpi eq, %failed, %well : i32
  cf.cond_br %is_well, ^compare, ^error
^compare:
  %value = llvm.load %to : !llvm.ptr -> !llvm.ptr
  %found = llvm.ptrtoint %value : !llvm.ptr to i64
  llvm.call @Py_DecRef(%value) : (!llvm.ptr) -> ()
  %equal = arith.cmpi eq, %found, %wanted : i64
  %after = arith.addi %number, %1 : i64
  cf.cond_br %equal, ^next(%after : i64), ^no
^error:
  llvm.call @PyErr_Clear() : () -> ()
  return %false : i1
^yes:
  return %true : i1
^no:
  return %false : i1
}

// Whether none of the first `count` values of a call that are written meets another one.
func.func private @are_apart(%record: !llvm.ptr, %places: !llvm.ptr, %count: i64) -> i1 {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %64 = arith.constant 64 : i64
  %72 = arith.constant 72 : i64
  %true = arith.constant true
  %false = arith.constant false
  cf.br ^next(%0 : i64)
^next(%number: i64):
  %more = arith.cmpi slt, %number, %count : i64
  cf.cond_br %more, ^one, ^yes
^one:
  %entry = func.call @entry(%record, %number) : (!llvm.ptr, i64) -> !llvm.ptr
  %written = func.call @word(%entry, %72) : (!llvm.ptr, i64) -> i64
  %bytes = func.call @word(%entry, %64) : (!llvm.ptr, i64) -> i64
  %start = func.call @element(%places, %number) : (!llvm.ptr, i64) -> i64
  %end = arith.addi %start, %bytes : i64
  %after = arith.addi %number, %1 : i64
  %is_read = arith.cmpi eq, %written, %0 : i64
  cf.cond_br %is_read, ^next(%after : i64), ^next_other(%0 : i64)
^next_other(%other: i64):
  %more_others = arith.cmpi slt, %other, %count : i64
  cf.cond_br %more_others, ^compare, ^next(%after : i64)
^compare:
  %other_entry = func.call @entry(%record, %other) : (!llvm.ptr, i64) -> !llvm.ptr
  %other_bytes = func.call @word(%other_entry, %64) : (!llvm.ptr, i64) -> i64
  %other_start = func.call @element(%places, %other) : (!llvm.ptr, i64) -> i64
  %other_end = arith.addi %other_start, %other_bytes : i64
  %begins = arith.cmpi ult, %start, %other_end : i64
  %ends = arith.cmpi ult, %other_start, %end : i64
  %meet = arith.andi %begins, %ends : i1
  %is_other = arith.cmpi ne, %other, %number : i64
  %is_wrong = arith.andi %meet, %is_other : i1
  %after_other = arith.addi %other, %1 : i64
  cf.cond_br %is_wrong, ^no, ^next_other(%after_other : i64)
^yes:
  return %true : i1
^no:
  return %false : i1
}

// Whether a call fits a record. If so, `places` has for each value where its elements are, or the
// bits of a number. `out` is null where it is not given. Behind the first `count` values come those
// of keywords, `named` and perhaps, at `out_at` of them, that of out=.
func.func private @fits(%record: !llvm.ptr, %values: !llvm.ptr, %count: i64, %names: !llvm.ptr,
                        %named: i64, %out_at: i64, %out: !llvm.ptr, %places: !llvm.ptr) -> i1 {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %16 = arith.constant 16 : i64
  %96 = arith.constant 96 : i64
  %104 = arith.constant 104 : i64
  %false = arith.constant false
  %world = func.call @place(%record, %0) : (!llvm.ptr, i64) -> !llvm.ptr
  %wanted = func.call @word(%record, %16) : (!llvm.ptr, i64) -> i64
  %total = arith.addi %count, %named : i64
  %is_as_many = arith.cmpi eq, %total, %wanted : i64
  %out_number = llvm.ptrtoint %out : !llvm.ptr to i64
  %has_out = arith.cmpi ne, %out_number, %0 : i64
  %makes = func.call @word(%record, %96) : (!llvm.ptr, i64) -> i64
  %takes = func.call @word(%record, %104) : (!llvm.ptr, i64) -> i64
  %may = arith.select %has_out, %takes, %makes : i64
  %is_allowed = arith.cmpi ne, %may, %0 : i64
  %is_alike = arith.andi %is_as_many, %is_allowed : i1
  cf.cond_br %is_alike, ^names, ^no
^names:
  %has_names = func.call @has_names(%record, %names, %named, %out_at)
      : (!llvm.ptr, !llvm.ptr, i64, i64) -> i1
  // Where out= is not the last keyword, those behind it have one place more.
  %before_out = arith.addi %count, %out_at : i64
  cf.cond_br %has_names, ^next(%0 : i64), ^no
^next(%number: i64):
  %more = arith.cmpi slt, %number, %total : i64
  cf.cond_br %more, ^look, ^out
^look:
  %is_behind = arith.cmpi sge, %number, %before_out : i64
  %shift = arith.extui %is_behind : i1 to i64
  %place = arith.addi %number, %shift : i64
  %at_value = llvm.getelementptr %values[%place] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %value = llvm.load %at_value : !llvm.ptr -> !llvm.ptr
  %entry = func.call @entry(%record, %number) : (!llvm.ptr, i64) -> !llvm.ptr
  %to = llvm.getelementptr %places[%number] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %kind = func.call @word(%entry, %0) : (!llvm.ptr, i64) -> i64
  %after = arith.addi %number, %1 : i64
  // What is no array and no number is nowhere.
  llvm.store %0, %to : i64, !llvm.ptr
  cf.switch %kind : i64, [default: ^text, 0: ^array, 1: ^number, 3: ^object, 4: ^integers]
^array:
  %is_array = func.call @is_array(%value, %entry, %world)
      : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i1
  cf.cond_br %is_array, ^place, ^no
^place:
  %data = func.call @word(%value, %16) : (!llvm.ptr, i64) -> i64
  llvm.store %data, %to : i64, !llvm.ptr
  cf.br ^next(%after : i64)
^number:
  %is_number = func.call @is_number(%value, %entry, %to)
      : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i1
  cf.cond_br %is_number, ^next(%after : i64), ^no
^text:
  %is_text = func.call @is_text(%value, %entry) : (!llvm.ptr, !llvm.ptr) -> i1
  cf.cond_br %is_text, ^next(%after : i64), ^no
^object:
  %object = func.call @word(%entry, %16) : (!llvm.ptr, i64) -> i64
  %value_number = llvm.ptrtoint %value : !llvm.ptr to i64
  %is_object = arith.cmpi eq, %object, %value_number : i64
  cf.cond_br %is_object, ^next(%after : i64), ^no
^integers:
  %are_integers = func.call @are_integers(%value, %entry) : (!llvm.ptr, !llvm.ptr) -> i1
  cf.cond_br %are_integers, ^next(%after : i64), ^no
^out:
  cf.cond_br %has_out, ^given, ^apart(%total : i64)
^given:
  %out_entry = func.call @entry(%record, %total) : (!llvm.ptr, i64) -> !llvm.ptr
  %is_fit = func.call @is_array(%out, %out_entry, %world)
      : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i1
  cf.cond_br %is_fit, ^with_out, ^no
^with_out:
  %out_data = func.call @word(%out, %16) : (!llvm.ptr, i64) -> i64
  func.call @store(%out_data, %places, %total) : (i64, !llvm.ptr, i64) -> ()
  %one_more = arith.addi %total, %1 : i64
  cf.br ^apart(%one_more : i64)
^apart(%all: i64):
  %are_apart = func.call @are_apart(%record, %places, %all) : (!llvm.ptr, !llvm.ptr, i64) -> i1
  cf.cond_br %are_apart, ^force, ^no
^force:
  %is_in_force = func.call @is_in_force(%record) : (!llvm.ptr) -> i1
  return %is_in_force : i1
^no:
  return %false : i1
}

// Lay the frame of a call out: what all calls have in common, and the places within it.
func.func private @lay_out(%record: !llvm.ptr, %frame: !llvm.ptr) {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %32 = arith.constant 32 : i64
  %40 = arith.constant 40 : i64
  %48 = arith.constant 48 : i64
  %56 = arith.constant 56 : i64
  %common = func.call @place(%record, %32) : (!llvm.ptr, i64) -> !llvm.ptr
  %words = func.call @word(%record, %40) : (!llvm.ptr, i64) -> i64
  %inner = func.call @place(%record, %48) : (!llvm.ptr, i64) -> !llvm.ptr
  %count = func.call @word(%record, %56) : (!llvm.ptr, i64) -> i64
  %base = llvm.ptrtoint %frame : !llvm.ptr to i64
  scf.for %word = %0 to %words step %1 : i64 {
    %value = func.call @element(%common, %word) : (!llvm.ptr, i64) -> i64
    func.call @store(%value, %frame, %word) : (i64, !llvm.ptr, i64) -> ()
  }
  scf.for %number = %0 to %count step %1 : i64 {
    %word = func.call @element(%inner, %number) : (!llvm.ptr, i64) -> i64
    %offset = func.call @element(%frame, %word) : (!llvm.ptr, i64) -> i64
    %address = arith.addi %base, %offset : i64
    func.call @store(%address, %frame, %word) : (i64, !llvm.ptr, i64) -> ()
  }
  return
}

// Write where an array is, or the bits of a number, to the place of an entry in the frame.
func.func private @fill(%entry: !llvm.ptr, %value: i64, %frame: !llvm.ptr) {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %8 = arith.constant 8 : i64
  %80 = arith.constant 80 : i64
  %kind = func.call @word(%entry, %0) : (!llvm.ptr, i64) -> i64
  %word = func.call @word(%entry, %8) : (!llvm.ptr, i64) -> i64
  %second = arith.addi %word, %1 : i64
  cf.switch %kind : i64, [default: ^done, 0: ^array(%value : i64), 1: ^number]
^array(%address: i64):
  func.call @store(%address, %frame, %word) : (i64, !llvm.ptr, i64) -> ()
  func.call @store(%address, %frame, %second) : (i64, !llvm.ptr, i64) -> ()
  return
^number:
  %room = func.call @word(%entry, %80) : (!llvm.ptr, i64) -> i64
  %is_in_memory = arith.cmpi ne, %room, %0 : i64
  cf.cond_br %is_in_memory, ^memory, ^bits
^memory:
  func.call @store(%value, %frame, %room) : (i64, !llvm.ptr, i64) -> ()
  %at = llvm.getelementptr %frame[%room] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %address_of_it = llvm.ptrtoint %at : !llvm.ptr to i64
  cf.br ^array(%address_of_it : i64)
^bits:
  func.call @store(%value, %frame, %word) : (i64, !llvm.ptr, i64) -> ()
  return
^done:
  return
}

// Let go of the first `count` results.
func.func private @drop(%results: !llvm.ptr, %count: i64) {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  scf.for %number = %0 to %count step %1 : i64 {
    %at = llvm.getelementptr %results[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
    %result = llvm.load %at : !llvm.ptr -> !llvm.ptr
    llvm.call @Py_DecRef(%result) : (!llvm.ptr) -> ()
  }
  return
}

// A new array for the result of an entry; null where there is no memory for it.
func.func private @new_array(%entry: !llvm.ptr, %world: !llvm.ptr) -> !llvm.ptr {
  %0 = arith.constant 0 : i64
  %32 = arith.constant 32 : i64
  %40 = arith.constant 40 : i64
  %48 = arith.constant 48 : i64
  %56 = arith.constant 56 : i64
  %88 = arith.constant 88 : i64
  %plain = arith.constant 0 : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %type = func.call @place(%world, %0) : (!llvm.ptr, i64) -> !llvm.ptr
  %make = func.call @place(%world, %32) : (!llvm.ptr, i64) -> !llvm.ptr
  %wide_rank = func.call @word(%entry, %40) : (!llvm.ptr, i64) -> i64
  %rank = arith.trunci %wide_rank : i64 to i32
  %sizes = func.call @place(%entry, %48) : (!llvm.ptr, i64) -> !llvm.ptr
  %strides = func.call @place(%entry, %56) : (!llvm.ptr, i64) -> !llvm.ptr
  %dtype = func.call @place(%entry, %88) : (!llvm.ptr, i64) -> !llvm.ptr
  // The array takes one reference to its dtype.
  llvm.call @Py_IncRef(%dtype) : (!llvm.ptr) -> ()
  %array = llvm.call %make(%type, %dtype, %rank, %sizes, %strides, %null, %plain, %null)
      : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr, i32, !llvm.ptr)
      -> !llvm.ptr
  func.call @made(%array, %entry) : (!llvm.ptr, !llvm.ptr) -> ()
  return %array : !llvm.ptr
}

// Run native code on a frame: without the GIL, unless its last run was short.
func.func private @run(%record: !llvm.ptr, %frame: !llvm.ptr) {
  %0 = arith.constant 0 : i64
  %8 = arith.constant 8 : i64
  %14 = arith.constant 14 : i64
  %112 = arith.constant 112 : i64
  %120 = arith.constant 120 : i64
  %40 = arith.constant 40 : i64
  %code = func.call @place(%record, %8) : (!llvm.ptr, i64) -> !llvm.ptr
  %world = func.call @place(%record, %0) : (!llvm.ptr, i64) -> !llvm.ptr
  %table = llvm.getelementptr %frame[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %short = func.call @word(%world, %40) : (!llvm.ptr, i64) -> i64
  %last = func.call @word(%record, %112) : (!llvm.ptr, i64) -> i64
  %always = func.call @word(%record, %120) : (!llvm.ptr, i64) -> i64
  %was_short = arith.cmpi ult, %last, %short : i64
  %may_hold = arith.cmpi eq, %always, %0 : i64
  %holds = arith.andi %was_short, %may_hold : i1
  %end = scf.if %holds -> i64 {
    %start = func.call @now() : () -> i64
    llvm.call %code(%table) : !llvm.ptr, (!llvm.ptr) -> ()
    %stop = func.call @now() : () -> i64
    %ticks = arith.subi %stop, %start : i64
    scf.yield %ticks : i64
  } else {
    %thread = llvm.call @PyEval_SaveThread() : () -> !llvm.ptr
    %start = func.call @now() : () -> i64
    llvm.call %code(%table) : !llvm.ptr, (!llvm.ptr) -> ()
    %stop = func.call @now() : () -> i64
    llvm.call @PyEval_RestoreThread(%thread) : (!llvm.ptr) -> ()
    %ticks = arith.subi %stop, %start : i64
    scf.yield %ticks : i64
  }
  func.call @store(%end, %record, %14) : (i64, !llvm.ptr, i64) -> ()
  return
}

// The result of a call that fits a record; null where an error is set.
func.func private @carry_out(%record: !llvm.ptr, %count: i64, %out: !llvm.ptr,
                             %places: !llvm.ptr) -> !llvm.ptr {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %16 = arith.constant 16 : i64
  %24 = arith.constant 24 : i64
  %40 = arith.constant 40 : i64
  %88 = arith.constant 88 : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %world = func.call @place(%record, %0) : (!llvm.ptr, i64) -> !llvm.ptr
  %words = func.call @word(%record, %40) : (!llvm.ptr, i64) -> i64
  %result_count = func.call @word(%record, %24) : (!llvm.ptr, i64) -> i64
  %frame = llvm.alloca %words x i64 {alignment = 64 : i64} : (i64) -> !llvm.ptr
  %room = arith.addi %result_count, %1 : i64
  %results = llvm.alloca %room x !llvm.ptr : (i64) -> !llvm.ptr
  func.call @lay_out(%record, %frame) : (!llvm.ptr, !llvm.ptr) -> ()
  scf.for %number = %0 to %count step %1 : i64 {
    %entry = func.call @entry(%record, %number) : (!llvm.ptr, i64) -> !llvm.ptr
    %value = func.call @element(%places, %number) : (!llvm.ptr, i64) -> i64
    func.call @fill(%entry, %value, %frame) : (!llvm.ptr, i64, !llvm.ptr) -> ()
  }
  %out_number = llvm.ptrtoint %out : !llvm.ptr to i64
  %has_out = arith.cmpi ne, %out_number, %0 : i64
  cf.cond_br %has_out, ^given, ^next(%0 : i64)
^given:
  %out_entry = func.call @entry(%record, %count) : (!llvm.ptr, i64) -> !llvm.ptr
  %out_data = func.call @element(%places, %count) : (!llvm.ptr, i64) -> i64
  func.call @fill(%out_entry, %out_data, %frame) : (!llvm.ptr, i64, !llvm.ptr) -> ()
  llvm.call @Py_IncRef(%out) : (!llvm.ptr) -> ()
  llvm.store %out, %results : !llvm.ptr, !llvm.ptr
  cf.br ^run
^next(%number: i64):
  %more = arith.cmpi slt, %number, %result_count : i64
  cf.cond_br %more, ^make, ^run
^make:
  %place = arith.addi %count, %number : i64
  %entry = func.call @entry(%record, %place) : (!llvm.ptr, i64) -> !llvm.ptr
  %array = func.call @new_array(%entry, %world) : (!llvm.ptr, !llvm.ptr) -> !llvm.ptr
  %array_number = llvm.ptrtoint %array : !llvm.ptr to i64
  %is_made = arith.cmpi ne, %array_number, %0 : i64
  cf.cond_br %is_made, ^made, ^no_memory
^made:
  %data = func.call @word(%array, %16) : (!llvm.ptr, i64) -> i64
  func.call @fill(%entry, %data, %frame) : (!llvm.ptr, i64, !llvm.ptr) -> ()
  func.call @store(%array_number, %results, %number) : (i64, !llvm.ptr, i64) -> ()
  %after = arith.addi %number, %1 : i64
  cf.br ^next(%after : i64)
^no_memory:
  func.call @drop(%results, %number) : (!llvm.ptr, i64) -> ()
  return %null : !llvm.ptr
^run:
  func.call @run(%record, %frame) : (!llvm.ptr, !llvm.ptr) -> ()
  %status = llvm.load %frame : !llvm.ptr -> i64
  %is_well = arith.cmpi eq, %status, %0 : i64
  cf.cond_br %is_well, ^well, ^failed
^failed:
  func.call @drop(%results, %result_count) : (!llvm.ptr, i64) -> ()
  %report = func.call @place(%record, %88) : (!llvm.ptr, i64) -> !llvm.ptr
  %shown = llvm.call @PyLong_FromLongLong(%status) : (i64) -> !llvm.ptr
  %shown_number = llvm.ptrtoint %shown : !llvm.ptr to i64
  %is_shown = arith.cmpi ne, %shown_number, %0 : i64
  cf.cond_br %is_shown, ^report, ^out_of_memory
^report:
  %reported = llvm.call @PyObject_CallOneArg(%report, %shown)
      : (!llvm.ptr, !llvm.ptr) -> !llvm.ptr
  llvm.call @Py_DecRef(%shown) : (!llvm.ptr) -> ()
  return %reported : !llvm.ptr
^out_of_memory:
  return %null : !llvm.ptr
^well:
  cf.switch %result_count : i64, [default: ^tuple, 0: ^none, 1: ^one]
^none:
  %none = func.call @place(%world, %16) : (!llvm.ptr, i64) -> !llvm.ptr
  llvm.call @Py_IncRef(%none) : (!llvm.ptr) -> ()
  return %none : !llvm.ptr
^one:
  %only = llvm.load %results : !llvm.ptr -> !llvm.ptr
  %144 = arith.constant 144 : i64
  %as_number = func.call @word(%record, %144) : (!llvm.ptr, i64) -> i64
  %is_wanted = arith.select %has_out, %0, %as_number : i64
  %is_number = arith.cmpi ne, %is_wanted, %0 : i64
  cf.cond_br %is_number, ^number, ^as_it_is
^as_it_is:
  return %only : !llvm.ptr
^number:
  // It takes over the reference.
  %48 = arith.constant 48 : i64
  %to_number = func.call @place(%world, %48) : (!llvm.ptr, i64) -> !llvm.ptr
  %number_made = llvm.call %to_number(%only) : !llvm.ptr, (!llvm.ptr) -> !llvm.ptr
  return %number_made : !llvm.ptr
^tuple:
  %tuple = llvm.call @PyTuple_New(%result_count) : (i64) -> !llvm.ptr
  %tuple_number = llvm.ptrtoint %tuple : !llvm.ptr to i64
  %is_tuple = arith.cmpi ne, %tuple_number, %0 : i64
  cf.cond_br %is_tuple, ^items, ^no_tuple
^items:
  // Its items begin at 24, and take over the references.
  %items = llvm.getelementptr %tuple[24] : (!llvm.ptr) -> !llvm.ptr, i8
  scf.for %at = %0 to %result_count step %1 : i64 {
    %item = func.call @element(%results, %at) : (!llvm.ptr, i64) -> i64
    func.call @store(%item, %items, %at) : (i64, !llvm.ptr, i64) -> ()
  }
  return %tuple : !llvm.ptr
^no_tuple:
  func.call @drop(%results, %result_count) : (!llvm.ptr, i64) -> ()
  return %null : !llvm.ptr
}

// Call `__call__` of the object instead.
func.func private @call_slowly(%object: !llvm.ptr, %values: !llvm.ptr, %count: i64,
                               %keywords: i64, %names: !llvm.ptr, %world: !llvm.ptr)
    -> !llvm.ptr {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %8 = arith.constant 8 : i64
  %24 = arith.constant 24 : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %given = arith.addi %count, %keywords : i64
  %all = arith.addi %given, %1 : i64
  // As many as the caller likes: more, perhaps, than the stack can take.
  %bytes = arith.muli %all, %8 : i64
  %every = llvm.call @PyMem_Malloc(%bytes) : (i64) -> !llvm.ptr
  %every_number = llvm.ptrtoint %every : !llvm.ptr to i64
  %is_room = arith.cmpi ne, %every_number, %0 : i64
  cf.cond_br %is_room, ^call, ^no_memory
^call:
  llvm.store %object, %every : !llvm.ptr, !llvm.ptr
  %rest = llvm.getelementptr %every[8] : (!llvm.ptr) -> !llvm.ptr, i8
  scf.for %number = %0 to %given step %1 : i64 {
    %value = func.call @element(%values, %number) : (!llvm.ptr, i64) -> i64
    func.call @store(%value, %rest, %number) : (i64, !llvm.ptr, i64) -> ()
  }
  %name = func.call @place(%world, %24) : (!llvm.ptr, i64) -> !llvm.ptr
  %positional = arith.addi %count, %1 : i64
  %result = llvm.call @PyObject_VectorcallMethod(%name, %every, %positional, %names)
      : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
  llvm.call @PyMem_Free(%every) : (!llvm.ptr) -> ()
  return %result : !llvm.ptr
^no_memory:
  %error = llvm.call @PyErr_NoMemory() : () -> !llvm.ptr
  return %null : !llvm.ptr
}

// What the interpreter calls: of type `vectorcallfunc`.
//
// The object has three words, where its type (at 56) says: the address of this, the world, and the
// list of records. A record is an object of ctypes, which has its words' address at 16.
func.func @call(%object: !llvm.ptr, %values: !llvm.ptr, %count_and_flag: i64,
                %names: !llvm.ptr) -> !llvm.ptr {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %3 = arith.constant 3 : i64
  %8 = arith.constant 8 : i64
  %16 = arith.constant 16 : i64
  %24 = arith.constant 24 : i64
  %56 = arith.constant 56 : i64
  %most = arith.constant 32 : i64
  %room = arith.constant 33 : i64
  %without_flag = arith.constant 0x7FFFFFFFFFFFFFFF : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %places = llvm.alloca %room x i64 : (i64) -> !llvm.ptr
  %count = arith.andi %count_and_flag, %without_flag : i64
  %type = func.call @place(%object, %8) : (!llvm.ptr, i64) -> !llvm.ptr
  %offset = func.call @word(%type, %56) : (!llvm.ptr, i64) -> i64
  %own = llvm.getelementptr %object[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %world = func.call @place(%own, %8) : (!llvm.ptr, i64) -> !llvm.ptr
  %records = func.call @place(%own, %16) : (!llvm.ptr, i64) -> !llvm.ptr
  %names_number = llvm.ptrtoint %names : !llvm.ptr to i64
  %has_names = arith.cmpi ne, %names_number, %0 : i64
  cf.cond_br %has_names, ^names, ^look(%0, %0, %0, %null : i64, i64, i64, !llvm.ptr)
^names:
  %keywords = func.call @word(%names, %16) : (!llvm.ptr, i64) -> i64
  %out_name = func.call @word(%world, %8) : (!llvm.ptr, i64) -> i64
  cf.br ^next_name(%0 : i64)
^next_name(%at: i64):
  %more_names = arith.cmpi slt, %at, %keywords : i64
  cf.cond_br %more_names, ^name, ^look(%keywords, %keywords, %keywords, %null
      : i64, i64, i64, !llvm.ptr)
^name:
  // The items of a tuple begin at its word 3.
  %item = arith.addi %at, %3 : i64
  %name = func.call @element(%names, %item) : (!llvm.ptr, i64) -> i64
  %is_out = arith.cmpi eq, %name, %out_name : i64
  %after_name = arith.addi %at, %1 : i64
  cf.cond_br %is_out, ^out, ^next_name(%after_name : i64)
^out:
  %at_given = arith.addi %count, %at : i64
  %given = func.call @element(%values, %at_given) : (!llvm.ptr, i64) -> i64
  %none = func.call @word(%world, %16) : (!llvm.ptr, i64) -> i64
  %is_none = arith.cmpi eq, %given, %none : i64
  %said = arith.select %is_none, %0, %given : i64
  %out = llvm.inttoptr %said : i64 to !llvm.ptr
  %others = arith.subi %keywords, %1 : i64
  cf.br ^look(%keywords, %others, %at, %out : i64, i64, i64, !llvm.ptr)
^look(%all_named: i64, %named: i64, %out_at: i64, %out_or_null: !llvm.ptr):
  %records_number = llvm.ptrtoint %records : !llvm.ptr to i64
  %has_records = arith.cmpi ne, %records_number, %0 : i64
  %total = arith.addi %count, %named : i64
  %is_usual = arith.cmpi ule, %total, %most : i64
  %may_fit = arith.andi %has_records, %is_usual : i1
  cf.cond_br %may_fit, ^records, ^slowly(%all_named : i64)
^records:
  %record_count = func.call @word(%records, %16) : (!llvm.ptr, i64) -> i64
  %items = func.call @place(%records, %24) : (!llvm.ptr, i64) -> !llvm.ptr
  cf.br ^next(%0 : i64)
^next(%number: i64):
  %more = arith.cmpi slt, %number, %record_count : i64
  cf.cond_br %more, ^try, ^slowly(%all_named : i64)
^try:
  %at_holder = llvm.getelementptr %items[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %holder = llvm.load %at_holder : !llvm.ptr -> !llvm.ptr
  %record = func.call @place(%holder, %16) : (!llvm.ptr, i64) -> !llvm.ptr
  %fits = func.call @fits(%record, %values, %count, %names, %named, %out_at, %out_or_null, %places)
      : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr, i64, i64, !llvm.ptr, !llvm.ptr) -> i1
  %after = arith.addi %number, %1 : i64
  cf.cond_br %fits, ^found, ^next(%after : i64)
^found:
  // The next call is likely to be such a one: look there first.
  %first = llvm.load %items : !llvm.ptr -> !llvm.ptr
  llvm.store %first, %at_holder : !llvm.ptr, !llvm.ptr
  llvm.store %holder, %items : !llvm.ptr, !llvm.ptr
  llvm.call @Py_IncRef(%holder) : (!llvm.ptr) -> ()
  %result = func.call @carry_out(%record, %total, %out_or_null, %places)
      : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr) -> !llvm.ptr
  llvm.call @Py_DecRef(%holder) : (!llvm.ptr) -> ()
  return %result : !llvm.ptr
^slowly(%given_names: i64):
  %slow = func.call @call_slowly(%object, %values, %count, %given_names, %names, %world)
      : (!llvm.ptr, !llvm.ptr, i64, i64, !llvm.ptr, !llvm.ptr) -> !llvm.ptr
  return %slow : !llvm.ptr
}

// Where `call` is, for whoever installs it.
func.func @address(%to: !llvm.ptr) attributes {llvm.emit_c_interface} {
  %function = func.constant @call : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
  %address = builtin.unrealized_conversion_cast %function
      : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr to !llvm.ptr
  llvm.store %address, %to : !llvm.ptr, !llvm.ptr
  return
}
