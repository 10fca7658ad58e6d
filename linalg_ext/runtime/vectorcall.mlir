// A call of an object of Python's, from the interpreter to native code and back.
//
// The object holds a list of records (see call_record.py). A record says what the arguments of a
// call must be, and what is run then. Whatever fits no record goes to the object's `__call__`, and
// so does every call that would need more than a yes: a copy, a conversion, an error.
//
// All of it holds the GIL, but for the native code that is run. Code of Python's may run where an
// attribute is read, where something is let go, and where a class makes an object. So a record is held
// while it is used, and with it what it needs, and the list of records is looked at anew afterwards.
// What was in a container is held, too: others may change that while the GIL is free.
//
// The words of a record, 8 bytes each:
//     0 the world        1 native code           2 arguments, as given     3 results
//     4 frame            5 words of the frame    6 words that hold places  7 how many they are
//     8 context          9 settings in force    10 entries                11 what reports failures
//    12 whether it makes its results    13 whether it takes out=    14 what the last run took
//    15 whether the GIL is always free    16 names of keywords but out=    17 how many they are
//    18 whether its result, one without axes, is given as a number
//    19 arguments, out of their containers    20 for each entry its slot
//    21 containers: those of arguments, then those of out=    22, 23 how many of each
//    24 what is made of the results, inner containers first    25 how many of these
//    26 what is called before native code, or 0: not again at once, see 10 of the world
// of an entry, one for each argument and then one for each result:
//     0 kind (0 an array, 1 a number, 2 a constant)
//     1 word in the frame    2, 3 types; or 2 the constant
//     4 flags or form    5 rank or least    6 sizes or most    7 strides, or float
//     8 bytes
//     9 whether it is written    10 unused bits, or the word of a number in memory
//    11 dtype, or int    12 what makes the array, if not NumPy
// of a container:
//     0 kind (0 a tuple, 1 a list, 2 a dict, 3 attributes)    1 its slot    2 its type
//     3 how many are in it    4 their keys
// of what is made:
//     0 kind (0 a tuple, 1 a list, 2 a dict, 3 by a call, 4 an object that is there)
//     1 of how many values    2 what is called, or is there    3 keys, or the names of keywords
//     4 which values: the results, then what was made of them    5 how many are positional
// A slot has a value of the call. First come the arguments, those of keywords last, then out=, then
// what is in the first container, in the second, and so on.
// of the world:
//     0 numpy.ndarray    1 "out"    2 None    3 "__call__"    4 PyArray_NewFromDescr
//     5 ticks of a short run    6 PyArray_Return    7 str    8 int    9 float
//    10 ticks for which a call before native code holds    11 when the last such call was

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
llvm.func @PyObject_CallNoArgs(!llvm.ptr) -> !llvm.ptr
llvm.func @PyObject_CallOneArg(!llvm.ptr, !llvm.ptr) -> !llvm.ptr
llvm.func @PyObject_VectorcallMethod(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
llvm.func @PyObject_RichCompareBool(!llvm.ptr, !llvm.ptr, i32) -> i32
llvm.func @PyObject_GetAttr(!llvm.ptr, !llvm.ptr) -> !llvm.ptr
llvm.func @PyObject_Vectorcall(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
llvm.func @PyTuple_New(i64) -> !llvm.ptr
llvm.func @PyList_New(i64) -> !llvm.ptr
llvm.func @PyDict_New() -> !llvm.ptr
llvm.func @PyDict_SetItem(!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
llvm.func @PyDict_Next(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32

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
  %104 = arith.constant 104 : i64
  %entries = func.call @place(%record, %80) : (!llvm.ptr, i64) -> !llvm.ptr
  %offset = arith.muli %number, %104 : i64
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

// Whether two objects are one, or texts, integers or floats of one type and one value.
func.func private @is_same(%value: !llvm.ptr, %wanted: !llvm.ptr, %world: !llvm.ptr) -> i1 {
  %8 = arith.constant 8 : i64
  %16 = arith.constant 16 : i64
  %56 = arith.constant 56 : i64
  %64 = arith.constant 64 : i64
  %72 = arith.constant 72 : i64
  %false = arith.constant false
  %true = arith.constant true
  %one = llvm.ptrtoint %value : !llvm.ptr to i64
  %other = llvm.ptrtoint %wanted : !llvm.ptr to i64
  %is_it = arith.cmpi eq, %one, %other : i64
  cf.cond_br %is_it, ^yes, ^type
^type:
  %type = func.call @word(%value, %8) : (!llvm.ptr, i64) -> i64
  %wanted_type = func.call @word(%wanted, %8) : (!llvm.ptr, i64) -> i64
  %is_like = arith.cmpi eq, %type, %wanted_type : i64
  cf.cond_br %is_like, ^kind, ^no
^kind:
  %float = func.call @word(%world, %72) : (!llvm.ptr, i64) -> i64
  %is_float = arith.cmpi eq, %type, %float : i64
  cf.cond_br %is_float, ^float, ^other
^float:
  // 0.0 and -0.0 are equal, and not the same.
  %bits = func.call @word(%value, %16) : (!llvm.ptr, i64) -> i64
  %wanted_bits = func.call @word(%wanted, %16) : (!llvm.ptr, i64) -> i64
  %has_bits = arith.cmpi eq, %bits, %wanted_bits : i64
  return %has_bits : i1
^other:
  %str = func.call @word(%world, %56) : (!llvm.ptr, i64) -> i64
  %int = func.call @word(%world, %64) : (!llvm.ptr, i64) -> i64
  %is_str = arith.cmpi eq, %type, %str : i64
  %is_int = arith.cmpi eq, %type, %int : i64
  %is_either = arith.ori %is_str, %is_int : i1
  cf.cond_br %is_either, ^compare, ^no
^compare:
  %equality = arith.constant 2 : i32
  %certain = arith.constant 1 : i32
  %compared = llvm.call @PyObject_RichCompareBool(%value, %wanted, %equality)
      : (!llvm.ptr, !llvm.ptr, i32) -> i32
  %is_equal = arith.cmpi eq, %compared, %certain : i32
  return %is_equal : i1
^yes:
  return %true : i1
^no:
  return %false : i1
}

// Let go of the values in slots.
func.func private @release(%slots: !llvm.ptr, %first: i64, %end: i64) {
  %1 = arith.constant 1 : i64
  scf.for %slot = %first to %end step %1 : i64 {
    %at = llvm.getelementptr %slots[%slot] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
    %value = llvm.load %at : !llvm.ptr -> !llvm.ptr
    llvm.call @Py_DecRef(%value) : (!llvm.ptr) -> ()
  }
  return
}

// Put what is in `count` containers into slots, from `first` on, and hold it there. Gives whether they
// are as a record says, and the end of the slots that are held.
func.func private @unpack(%containers: !llvm.ptr, %count: i64, %slots: !llvm.ptr, %first: i64,
                          %world: !llvm.ptr) -> (i1, i64) {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %5 = arith.constant 5 : i64
  %8 = arith.constant 8 : i64
  %16 = arith.constant 16 : i64
  %24 = arith.constant 24 : i64
  %32 = arith.constant 32 : i64
  %true = arith.constant true
  %false = arith.constant false
  %position = llvm.alloca %1 x i64 : (i64) -> !llvm.ptr
  %to_key = llvm.alloca %1 x !llvm.ptr : (i64) -> !llvm.ptr
  %to_value = llvm.alloca %1 x !llvm.ptr : (i64) -> !llvm.ptr
  cf.br ^next(%0, %first : i64, i64)
^next(%number: i64, %end: i64):
  %more = arith.cmpi slt, %number, %count : i64
  %after = arith.addi %number, %1 : i64
  cf.cond_br %more, ^container, ^well
^container:
  %offset = arith.muli %number, %5 : i64
  %container = llvm.getelementptr %containers[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %slot = func.call @word(%container, %8) : (!llvm.ptr, i64) -> i64
  %at_slot = llvm.getelementptr %slots[%slot] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %value = llvm.load %at_slot : !llvm.ptr -> !llvm.ptr
  %type = func.call @word(%value, %8) : (!llvm.ptr, i64) -> i64
  %wanted_type = func.call @word(%container, %16) : (!llvm.ptr, i64) -> i64
  %is_kind = arith.cmpi eq, %type, %wanted_type : i64
  cf.cond_br %is_kind, ^kind, ^wrong(%end : i64)
^kind:
  %kind = func.call @word(%container, %0) : (!llvm.ptr, i64) -> i64
  %size = func.call @word(%container, %24) : (!llvm.ptr, i64) -> i64
  %keys = func.call @place(%container, %32) : (!llvm.ptr, i64) -> !llvm.ptr
  %stop = arith.addi %end, %size : i64
  %attributes = arith.constant 3 : i64
  %is_attributes = arith.cmpi eq, %kind, %attributes : i64
  cf.cond_br %is_attributes, ^attribute(%0, %end : i64, i64), ^size
^size:
  // A tuple, a list and a dict have the number of their items at 16.
  %own_size = func.call @word(%value, %16) : (!llvm.ptr, i64) -> i64
  %has_size = arith.cmpi eq, %own_size, %size : i64
  cf.cond_br %has_size, ^way, ^wrong(%end : i64)
^way:
  llvm.store %0, %position : i64, !llvm.ptr
  %inside = llvm.getelementptr %value[24] : (!llvm.ptr) -> !llvm.ptr, i8
  cf.switch %kind : i64, [default: ^item(%0, %end, %inside : i64, i64, !llvm.ptr), 1: ^list,
                          2: ^pair(%0, %end : i64, i64)]
^list:
  // A list has a pointer to its items at 24, a tuple the items themselves.
  %outside = func.call @place(%value, %24) : (!llvm.ptr, i64) -> !llvm.ptr
  cf.br ^item(%0, %end, %outside : i64, i64, !llvm.ptr)
^item(%item: i64, %item_slot: i64, %items: !llvm.ptr):
  %more_items = arith.cmpi slt, %item, %size : i64
  cf.cond_br %more_items, ^take, ^next(%after, %item_slot : i64, i64)
^take:
  %at_item = llvm.getelementptr %items[%item] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %taken = llvm.load %at_item : !llvm.ptr -> !llvm.ptr
  llvm.call @Py_IncRef(%taken) : (!llvm.ptr) -> ()
  %to_item = llvm.getelementptr %slots[%item_slot] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  llvm.store %taken, %to_item : !llvm.ptr, !llvm.ptr
  %item_after = arith.addi %item, %1 : i64
  %item_slot_after = arith.addi %item_slot, %1 : i64
  cf.br ^item(%item_after, %item_slot_after, %items : i64, i64, !llvm.ptr)
^pair(%pair: i64, %pair_slot: i64):
  %more_pairs = arith.cmpi slt, %pair, %size : i64
  cf.cond_br %more_pairs, ^look_up, ^next(%after, %pair_slot : i64, i64)
^look_up:
  %found = llvm.call @PyDict_Next(%value, %position, %to_key, %to_value)
      : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  %nothing = arith.constant 0 : i32
  %is_found = arith.cmpi ne, %found, %nothing : i32
  cf.cond_br %is_found, ^key, ^wrong(%pair_slot : i64)
^key:
  %key = llvm.load %to_key : !llvm.ptr -> !llvm.ptr
  %at_key = llvm.getelementptr %keys[%pair] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %wanted_key = llvm.load %at_key : !llvm.ptr -> !llvm.ptr
  %is_key = func.call @is_same(%key, %wanted_key, %world)
      : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i1
  cf.cond_br %is_key, ^hold, ^wrong(%pair_slot : i64)
^hold:
  %held = llvm.load %to_value : !llvm.ptr -> !llvm.ptr
  llvm.call @Py_IncRef(%held) : (!llvm.ptr) -> ()
  %to_pair = llvm.getelementptr %slots[%pair_slot] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  llvm.store %held, %to_pair : !llvm.ptr, !llvm.ptr
  %pair_after = arith.addi %pair, %1 : i64
  %pair_slot_after = arith.addi %pair_slot, %1 : i64
  cf.br ^pair(%pair_after, %pair_slot_after : i64, i64)
^attribute(%attribute: i64, %attribute_slot: i64):
  %more_attributes = arith.cmpi slt, %attribute, %size : i64
  cf.cond_br %more_attributes, ^get, ^next(%after, %attribute_slot : i64, i64)
^get:
  %at_name = llvm.getelementptr %keys[%attribute] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %name = llvm.load %at_name : !llvm.ptr -> !llvm.ptr
  %got = llvm.call @PyObject_GetAttr(%value, %name) : (!llvm.ptr, !llvm.ptr) -> !llvm.ptr
  %got_number = llvm.ptrtoint %got : !llvm.ptr to i64
  %is_got = arith.cmpi ne, %got_number, %0 : i64
  cf.cond_br %is_got, ^got, ^absent
^got:
  func.call @store(%got_number, %slots, %attribute_slot) : (i64, !llvm.ptr, i64) -> ()
  %attribute_after = arith.addi %attribute, %1 : i64
  %attribute_slot_after = arith.addi %attribute_slot, %1 : i64
  cf.br ^attribute(%attribute_after, %attribute_slot_after : i64, i64)
^absent:
  llvm.call @PyErr_Clear() : () -> ()
  cf.br ^wrong(%attribute_slot : i64)
^well:
  return %true, %end : i1, i64
^wrong(%held_end: i64):
  return %false, %held_end : i1, i64
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

// Whether a call fits a record. If so, `places` has for each entry where its elements are, or the bits
// of a number. `out` is null where it is not given. Behind the first `count` values come those of
// keywords, `named` and perhaps, at `out_at` of them, that of out=. Gives also the end of the slots that
// are held, whose first is that behind `out`.
func.func private @fits(%record: !llvm.ptr, %values: !llvm.ptr, %count: i64, %names: !llvm.ptr,
                        %named: i64, %out_at: i64, %out: !llvm.ptr, %places: !llvm.ptr,
                        %slots: !llvm.ptr) -> (i1, i64) {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %5 = arith.constant 5 : i64
  %16 = arith.constant 16 : i64
  %24 = arith.constant 24 : i64
  %96 = arith.constant 96 : i64
  %104 = arith.constant 104 : i64
  %152 = arith.constant 152 : i64
  %160 = arith.constant 160 : i64
  %168 = arith.constant 168 : i64
  %176 = arith.constant 176 : i64
  %184 = arith.constant 184 : i64
  %false = arith.constant false
  %world = func.call @place(%record, %0) : (!llvm.ptr, i64) -> !llvm.ptr
  %wanted = func.call @word(%record, %16) : (!llvm.ptr, i64) -> i64
  %total = arith.addi %count, %named : i64
  %first = arith.addi %total, %1 : i64
  %is_as_many = arith.cmpi eq, %total, %wanted : i64
  %out_number = llvm.ptrtoint %out : !llvm.ptr to i64
  %has_out = arith.cmpi ne, %out_number, %0 : i64
  %makes = func.call @word(%record, %96) : (!llvm.ptr, i64) -> i64
  %takes = func.call @word(%record, %104) : (!llvm.ptr, i64) -> i64
  %may = arith.select %has_out, %takes, %makes : i64
  %is_allowed = arith.cmpi ne, %may, %0 : i64
  %is_alike = arith.andi %is_as_many, %is_allowed : i1
  cf.cond_br %is_alike, ^names, ^no(%first : i64)
^names:
  %has_names = func.call @has_names(%record, %names, %named, %out_at)
      : (!llvm.ptr, !llvm.ptr, i64, i64) -> i1
  // Where out= is not the last keyword, those behind it have one place more.
  %before_out = arith.addi %count, %out_at : i64
  cf.cond_br %has_names, ^given(%0 : i64), ^no(%first : i64)
^given(%argument: i64):
  %more_given = arith.cmpi slt, %argument, %total : i64
  cf.cond_br %more_given, ^gather, ^gathered
^gather:
  %is_behind = arith.cmpi sge, %argument, %before_out : i64
  %shift = arith.extui %is_behind : i1 to i64
  %at = arith.addi %argument, %shift : i64
  %given = func.call @element(%values, %at) : (!llvm.ptr, i64) -> i64
  func.call @store(%given, %slots, %argument) : (i64, !llvm.ptr, i64) -> ()
  %argument_after = arith.addi %argument, %1 : i64
  cf.br ^given(%argument_after : i64)
^gathered:
  func.call @store(%out_number, %slots, %total) : (i64, !llvm.ptr, i64) -> ()
  %containers = func.call @place(%record, %168) : (!llvm.ptr, i64) -> !llvm.ptr
  %container_count = func.call @word(%record, %176) : (!llvm.ptr, i64) -> i64
  %entry_count = func.call @word(%record, %152) : (!llvm.ptr, i64) -> i64
  %are_so, %held = func.call @unpack(%containers, %container_count, %slots, %first, %world)
      : (!llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr) -> (i1, i64)
  cf.cond_br %are_so, ^out, ^no(%held : i64)
^out:
  cf.cond_br %has_out, ^with_out, ^entries(%held, %entry_count : i64, i64)
^with_out:
  %behind = arith.muli %container_count, %5 : i64
  %out_containers = llvm.getelementptr %containers[%behind] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %out_count = func.call @word(%record, %184) : (!llvm.ptr, i64) -> i64
  %is_out_so, %held_too = func.call @unpack(%out_containers, %out_count, %slots, %held, %world)
      : (!llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr) -> (i1, i64)
  %results = func.call @word(%record, %24) : (!llvm.ptr, i64) -> i64
  %with_results = arith.addi %entry_count, %results : i64
  cf.cond_br %is_out_so, ^entries(%held_too, %with_results : i64, i64), ^no(%held_too : i64)
^entries(%end: i64, %all: i64):
  %leaves = func.call @place(%record, %160) : (!llvm.ptr, i64) -> !llvm.ptr
  cf.br ^next(%0 : i64)
^next(%number: i64):
  %more = arith.cmpi slt, %number, %all : i64
  cf.cond_br %more, ^look, ^apart
^look:
  %slot = func.call @element(%leaves, %number) : (!llvm.ptr, i64) -> i64
  %at_value = llvm.getelementptr %slots[%slot] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %value = llvm.load %at_value : !llvm.ptr -> !llvm.ptr
  %entry = func.call @entry(%record, %number) : (!llvm.ptr, i64) -> !llvm.ptr
  %to = llvm.getelementptr %places[%number] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %kind = func.call @word(%entry, %0) : (!llvm.ptr, i64) -> i64
  %after = arith.addi %number, %1 : i64
  // A constant is nowhere.
  llvm.store %0, %to : i64, !llvm.ptr
  cf.switch %kind : i64, [default: ^constant, 0: ^array, 1: ^number]
^array:
  %is_array = func.call @is_array(%value, %entry, %world)
      : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i1
  cf.cond_br %is_array, ^place, ^no(%end : i64)
^place:
  %data = func.call @word(%value, %16) : (!llvm.ptr, i64) -> i64
  llvm.store %data, %to : i64, !llvm.ptr
  cf.br ^next(%after : i64)
^number:
  %is_number = func.call @is_number(%value, %entry, %to)
      : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i1
  cf.cond_br %is_number, ^next(%after : i64), ^no(%end : i64)
^constant:
  %constant = func.call @place(%entry, %16) : (!llvm.ptr, i64) -> !llvm.ptr
  %is_constant = func.call @is_same(%value, %constant, %world)
      : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i1
  cf.cond_br %is_constant, ^next(%after : i64), ^no(%end : i64)
^apart:
  %are_apart = func.call @are_apart(%record, %places, %all) : (!llvm.ptr, !llvm.ptr, i64) -> i1
  cf.cond_br %are_apart, ^force, ^no(%end : i64)
^force:
  %is_in_force = func.call @is_in_force(%record) : (!llvm.ptr) -> i1
  return %is_in_force, %end : i1, i64
^no(%held_end: i64):
  return %false, %held_end : i1, i64
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

// Let go of the first `count` values, where there is one.
func.func private @drop(%values: !llvm.ptr, %count: i64) {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  scf.for %number = %0 to %count step %1 : i64 {
    %at = llvm.getelementptr %values[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
    %value = llvm.load %at : !llvm.ptr -> !llvm.ptr
    %value_number = llvm.ptrtoint %value : !llvm.ptr to i64
    %is_there = arith.cmpi ne, %value_number, %0 : i64
    scf.if %is_there {
      llvm.call @Py_DecRef(%value) : (!llvm.ptr) -> ()
    }
  }
  return
}

// A new array for the result of an entry; null where an error is set.
func.func private @new_array(%entry: !llvm.ptr, %world: !llvm.ptr) -> !llvm.ptr {
  %0 = arith.constant 0 : i64
  %32 = arith.constant 32 : i64
  %40 = arith.constant 40 : i64
  %48 = arith.constant 48 : i64
  %56 = arith.constant 56 : i64
  %88 = arith.constant 88 : i64
  %plain = arith.constant 0 : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %96 = arith.constant 96 : i64
  %maker = func.call @place(%entry, %96) : (!llvm.ptr, i64) -> !llvm.ptr
  %maker_number = llvm.ptrtoint %maker : !llvm.ptr to i64
  %has_maker = arith.cmpi ne, %maker_number, %0 : i64
  cf.cond_br %has_maker, ^ask, ^new
^ask:
  %made = llvm.call @PyObject_CallNoArgs(%maker) : (!llvm.ptr) -> !llvm.ptr
  return %made : !llvm.ptr
^new:
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

// What a record makes of the results of a call, in `values`, whose references it takes over; null where
// an error is set. There is room behind them for what is made.
func.func private @build(%record: !llvm.ptr, %values: !llvm.ptr, %count: i64) -> !llvm.ptr {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %6 = arith.constant 6 : i64
  %8 = arith.constant 8 : i64
  %16 = arith.constant 16 : i64
  %24 = arith.constant 24 : i64
  %32 = arith.constant 32 : i64
  %40 = arith.constant 40 : i64
  %192 = arith.constant 192 : i64
  %200 = arith.constant 200 : i64
  %most = arith.constant 256 : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %arguments = llvm.alloca %most x !llvm.ptr : (i64) -> !llvm.ptr
  %parts = func.call @place(%record, %192) : (!llvm.ptr, i64) -> !llvm.ptr
  %part_count = func.call @word(%record, %200) : (!llvm.ptr, i64) -> i64
  cf.br ^next(%0 : i64)
^next(%number: i64):
  %more = arith.cmpi slt, %number, %part_count : i64
  %own = arith.addi %count, %number : i64
  %after = arith.addi %number, %1 : i64
  cf.cond_br %more, ^part, ^done
^part:
  %offset = arith.muli %number, %6 : i64
  %part = llvm.getelementptr %parts[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %kind = func.call @word(%part, %0) : (!llvm.ptr, i64) -> i64
  %size = func.call @word(%part, %8) : (!llvm.ptr, i64) -> i64
  %what = func.call @place(%part, %16) : (!llvm.ptr, i64) -> !llvm.ptr
  %keys = func.call @place(%part, %24) : (!llvm.ptr, i64) -> !llvm.ptr
  %which = func.call @place(%part, %32) : (!llvm.ptr, i64) -> !llvm.ptr
  cf.switch %kind : i64, [default: ^tuple, 1: ^list, 2: ^dict, 3: ^gather(%0 : i64), 4: ^object]
^tuple:
  %tuple = llvm.call @PyTuple_New(%size) : (i64) -> !llvm.ptr
  %tuple_number = llvm.ptrtoint %tuple : !llvm.ptr to i64
  %is_tuple = arith.cmpi ne, %tuple_number, %0 : i64
  %in_tuple = llvm.getelementptr %tuple[24] : (!llvm.ptr) -> !llvm.ptr, i8
  cf.cond_br %is_tuple, ^item(%0, %tuple, %in_tuple : i64, !llvm.ptr, !llvm.ptr), ^failed
^list:
  %list = llvm.call @PyList_New(%size) : (i64) -> !llvm.ptr
  %list_number = llvm.ptrtoint %list : !llvm.ptr to i64
  %is_list = arith.cmpi ne, %list_number, %0 : i64
  cf.cond_br %is_list, ^in_list, ^failed
^in_list:
  %of_list = func.call @place(%list, %24) : (!llvm.ptr, i64) -> !llvm.ptr
  cf.br ^item(%0, %list, %of_list : i64, !llvm.ptr, !llvm.ptr)
^item(%item: i64, %sequence: !llvm.ptr, %items: !llvm.ptr):
  %more_items = arith.cmpi slt, %item, %size : i64
  cf.cond_br %more_items, ^put, ^made(%sequence : !llvm.ptr)
^put:
  // It takes over the references.
  %source = func.call @element(%which, %item) : (!llvm.ptr, i64) -> i64
  %moved = func.call @element(%values, %source) : (!llvm.ptr, i64) -> i64
  func.call @store(%moved, %items, %item) : (i64, !llvm.ptr, i64) -> ()
  func.call @store(%0, %values, %source) : (i64, !llvm.ptr, i64) -> ()
  %item_after = arith.addi %item, %1 : i64
  cf.br ^item(%item_after, %sequence, %items : i64, !llvm.ptr, !llvm.ptr)
^dict:
  %dict = llvm.call @PyDict_New() : () -> !llvm.ptr
  %dict_number = llvm.ptrtoint %dict : !llvm.ptr to i64
  %is_dict = arith.cmpi ne, %dict_number, %0 : i64
  cf.cond_br %is_dict, ^pair(%0 : i64), ^failed
^pair(%pair: i64):
  %more_pairs = arith.cmpi slt, %pair, %size : i64
  cf.cond_br %more_pairs, ^set, ^let_go(%0, %dict : i64, !llvm.ptr)
^set:
  %at_key = llvm.getelementptr %keys[%pair] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %key = llvm.load %at_key : !llvm.ptr -> !llvm.ptr
  %pair_source = func.call @element(%which, %pair) : (!llvm.ptr, i64) -> i64
  %at_set = llvm.getelementptr %values[%pair_source] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %value = llvm.load %at_set : !llvm.ptr -> !llvm.ptr
  %status = llvm.call @PyDict_SetItem(%dict, %key, %value)
      : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  %well = arith.constant 0 : i32
  %is_set = arith.cmpi eq, %status, %well : i32
  %pair_after = arith.addi %pair, %1 : i64
  cf.cond_br %is_set, ^pair(%pair_after : i64), ^unset
^unset:
  llvm.call @Py_DecRef(%dict) : (!llvm.ptr) -> ()
  cf.br ^failed
^gather(%argument: i64):
  %more_arguments = arith.cmpi slt, %argument, %size : i64
  cf.cond_br %more_arguments, ^take, ^call
^take:
  %argument_source = func.call @element(%which, %argument) : (!llvm.ptr, i64) -> i64
  %taken = func.call @element(%values, %argument_source) : (!llvm.ptr, i64) -> i64
  func.call @store(%taken, %arguments, %argument) : (i64, !llvm.ptr, i64) -> ()
  %argument_after = arith.addi %argument, %1 : i64
  cf.br ^gather(%argument_after : i64)
^call:
  %positional = func.call @word(%part, %40) : (!llvm.ptr, i64) -> i64
  %called = llvm.call @PyObject_Vectorcall(%what, %arguments, %positional, %keys)
      : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
  %called_number = llvm.ptrtoint %called : !llvm.ptr to i64
  %is_called = arith.cmpi ne, %called_number, %0 : i64
  cf.cond_br %is_called, ^let_go(%0, %called : i64, !llvm.ptr), ^failed
^let_go(%given: i64, %object: !llvm.ptr):
  %more_given = arith.cmpi slt, %given, %size : i64
  cf.cond_br %more_given, ^let_one_go, ^made(%object : !llvm.ptr)
^let_one_go:
  %given_source = func.call @element(%which, %given) : (!llvm.ptr, i64) -> i64
  %at_given = llvm.getelementptr %values[%given_source] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %given_value = llvm.load %at_given : !llvm.ptr -> !llvm.ptr
  func.call @store(%0, %values, %given_source) : (i64, !llvm.ptr, i64) -> ()
  llvm.call @Py_DecRef(%given_value) : (!llvm.ptr) -> ()
  %given_after = arith.addi %given, %1 : i64
  cf.br ^let_go(%given_after, %object : i64, !llvm.ptr)
^object:
  llvm.call @Py_IncRef(%what) : (!llvm.ptr) -> ()
  cf.br ^made(%what : !llvm.ptr)
^made(%new: !llvm.ptr):
  %new_number = llvm.ptrtoint %new : !llvm.ptr to i64
  func.call @store(%new_number, %values, %own) : (i64, !llvm.ptr, i64) -> ()
  cf.br ^next(%after : i64)
^done:
  %last = arith.subi %own, %1 : i64
  %at_last = llvm.getelementptr %values[%last] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %built = llvm.load %at_last : !llvm.ptr -> !llvm.ptr
  return %built : !llvm.ptr
^failed:
  func.call @drop(%values, %own) : (!llvm.ptr, i64) -> ()
  return %null : !llvm.ptr
}

// The result of a call that fits a record; null where an error is set.
func.func private @carry_out(%record: !llvm.ptr, %has_out: i1, %places: !llvm.ptr,
                             %slots: !llvm.ptr) -> !llvm.ptr {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  %16 = arith.constant 16 : i64
  %24 = arith.constant 24 : i64
  %40 = arith.constant 40 : i64
  %88 = arith.constant 88 : i64
  %152 = arith.constant 152 : i64
  %160 = arith.constant 160 : i64
  %200 = arith.constant 200 : i64
  %208 = arith.constant 208 : i64
  %most = arith.constant 256 : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %80 = arith.constant 80 : i64
  %11 = arith.constant 11 : i64
  %world = func.call @place(%record, %0) : (!llvm.ptr, i64) -> !llvm.ptr
  %begin = func.call @place(%record, %208) : (!llvm.ptr, i64) -> !llvm.ptr
  %begin_number = llvm.ptrtoint %begin : !llvm.ptr to i64
  %has_begin = arith.cmpi ne, %begin_number, %0 : i64
  cf.cond_br %has_begin, ^look, ^lay_out
^look:
  %holds_for = func.call @word(%world, %80) : (!llvm.ptr, i64) -> i64
  %last = func.call @word(%world, %88) : (!llvm.ptr, i64) -> i64
  %now = func.call @now() : () -> i64
  %since = arith.subi %now, %last : i64
  %holds = arith.cmpi ult, %since, %holds_for : i64
  cf.cond_br %holds, ^lay_out, ^begin
^begin:
  %begun = llvm.call @PyObject_CallNoArgs(%begin) : (!llvm.ptr) -> !llvm.ptr
  %begun_number = llvm.ptrtoint %begun : !llvm.ptr to i64
  %is_begun = arith.cmpi ne, %begun_number, %0 : i64
  cf.cond_br %is_begun, ^begun, ^not_begun
^not_begun:
  return %null : !llvm.ptr
^begun:
  llvm.call @Py_DecRef(%begun) : (!llvm.ptr) -> ()
  func.call @store(%now, %world, %11) : (i64, !llvm.ptr, i64) -> ()
  cf.br ^lay_out
^lay_out:
  %words = func.call @word(%record, %40) : (!llvm.ptr, i64) -> i64
  %result_count = func.call @word(%record, %24) : (!llvm.ptr, i64) -> i64
  %count = func.call @word(%record, %152) : (!llvm.ptr, i64) -> i64
  %frame = llvm.alloca %words x i64 {alignment = 64 : i64} : (i64) -> !llvm.ptr
  %results = llvm.alloca %most x !llvm.ptr : (i64) -> !llvm.ptr
  func.call @lay_out(%record, %frame) : (!llvm.ptr, !llvm.ptr) -> ()
  %given_results = arith.select %has_out, %result_count, %0 : i64
  %filled = arith.addi %count, %given_results : i64
  scf.for %number = %0 to %filled step %1 : i64 {
    %entry = func.call @entry(%record, %number) : (!llvm.ptr, i64) -> !llvm.ptr
    %value = func.call @element(%places, %number) : (!llvm.ptr, i64) -> i64
    func.call @fill(%entry, %value, %frame) : (!llvm.ptr, i64, !llvm.ptr) -> ()
  }
  cf.cond_br %has_out, ^given(%0 : i64), ^next(%0 : i64)
^given(%out_number: i64):
  %more_given = arith.cmpi slt, %out_number, %result_count : i64
  cf.cond_br %more_given, ^hold, ^run
^hold:
  %leaves = func.call @place(%record, %160) : (!llvm.ptr, i64) -> !llvm.ptr
  %leaf = arith.addi %count, %out_number : i64
  %slot = func.call @element(%leaves, %leaf) : (!llvm.ptr, i64) -> i64
  %at_out = llvm.getelementptr %slots[%slot] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %out = llvm.load %at_out : !llvm.ptr -> !llvm.ptr
  llvm.call @Py_IncRef(%out) : (!llvm.ptr) -> ()
  %to_out = llvm.getelementptr %results[%out_number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  llvm.store %out, %to_out : !llvm.ptr, !llvm.ptr
  %out_after = arith.addi %out_number, %1 : i64
  cf.br ^given(%out_after : i64)
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
  %part_count = func.call @word(%record, %200) : (!llvm.ptr, i64) -> i64
  %is_built = arith.cmpi ne, %part_count, %0 : i64
  cf.cond_br %is_built, ^build, ^plain
^build:
  %built = func.call @build(%record, %results, %result_count)
      : (!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
  return %built : !llvm.ptr
^plain:
  %is_none = arith.cmpi eq, %result_count, %0 : i64
  cf.cond_br %is_none, ^none, ^one
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
  %entries = arith.constant 128 : i64
  %room = arith.constant 256 : i64
  %without_flag = arith.constant 0x7FFFFFFFFFFFFFFF : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %places = llvm.alloca %entries x i64 : (i64) -> !llvm.ptr
  %slots = llvm.alloca %room x !llvm.ptr : (i64) -> !llvm.ptr
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
  %first_held = arith.addi %total, %1 : i64
  %out_or_0 = llvm.ptrtoint %out_or_null : !llvm.ptr to i64
  %has_out = arith.cmpi ne, %out_or_0, %0 : i64
  cf.cond_br %has_records, ^next(%0 : i64), ^slowly(%all_named : i64)
^next(%number: i64):
  %record_count = func.call @word(%records, %16) : (!llvm.ptr, i64) -> i64
  %items = func.call @place(%records, %24) : (!llvm.ptr, i64) -> !llvm.ptr
  %more = arith.cmpi slt, %number, %record_count : i64
  cf.cond_br %more, ^try, ^slowly(%all_named : i64)
^try:
  %at_holder = llvm.getelementptr %items[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %holder = llvm.load %at_holder : !llvm.ptr -> !llvm.ptr
  llvm.call @Py_IncRef(%holder) : (!llvm.ptr) -> ()
  %record = func.call @place(%holder, %16) : (!llvm.ptr, i64) -> !llvm.ptr
  %fits, %end = func.call @fits(%record, %values, %count, %names, %named, %out_at, %out_or_null,
                                %places, %slots)
      : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr, i64, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr)
      -> (i1, i64)
  %after = arith.addi %number, %1 : i64
  cf.cond_br %fits, ^found, ^other
^other:
  func.call @release(%slots, %first_held, %end) : (!llvm.ptr, i64, i64) -> ()
  llvm.call @Py_DecRef(%holder) : (!llvm.ptr) -> ()
  cf.br ^next(%after : i64)
^found:
  // The next call is likely to be such a one: look there first. Where code of Python's ran meanwhile
  // the list may be another.
  %count_now = func.call @word(%records, %16) : (!llvm.ptr, i64) -> i64
  %is_there = arith.cmpi slt, %number, %count_now : i64
  cf.cond_br %is_there, ^swap, ^run
^swap:
  %items_now = func.call @place(%records, %24) : (!llvm.ptr, i64) -> !llvm.ptr
  %at_own = llvm.getelementptr %items_now[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %own_item = llvm.load %at_own : !llvm.ptr -> !llvm.ptr
  %first_item = llvm.load %items_now : !llvm.ptr -> !llvm.ptr
  llvm.store %first_item, %at_own : !llvm.ptr, !llvm.ptr
  llvm.store %own_item, %items_now : !llvm.ptr, !llvm.ptr
  cf.br ^run
^run:
  %result = func.call @carry_out(%record, %has_out, %places, %slots)
      : (!llvm.ptr, i1, !llvm.ptr, !llvm.ptr) -> !llvm.ptr
  func.call @release(%slots, %first_held, %end) : (!llvm.ptr, i64, i64) -> ()
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
