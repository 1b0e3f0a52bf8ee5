// Products of matrices, convolutions, and linear algebra. `cube` is CANN's cubeMathType.
#include "cube.hpp"

using namespace emulator;

OP(Matmul, Tensor a, Tensor b, Tensor out, int8_t cube) { put(out, at::matmul(rounded(a, cube), rounded(b, cube))); }
OP(MatmulWeightNz, Tensor a, Tensor b, Tensor out, int8_t cube) { put(out, at::matmul(rounded(a, cube), rounded(b, cube))); }
OP(Mm, Tensor a, Tensor b, Tensor out, int8_t cube) { put(out, at::mm(rounded(a, cube), rounded(b, cube))); }
OP(Mv, Tensor a, Tensor b, Tensor out, int8_t cube) { put(out, at::mv(rounded(a, cube), rounded(b, cube))); }
OP(Dot, Tensor a, Tensor b, Tensor out) { put(out, at::dot(a, b)); }
OP(BatchMatMul, Tensor a, Tensor b, Tensor out, int8_t cube) { put(out, at::bmm(rounded(a, cube), rounded(b, cube))); }
OP(BatchMatMulWeightNz, Tensor a, Tensor b, Tensor out, int8_t cube) { put(out, at::bmm(rounded(a, cube), rounded(b, cube))); }
OP(Addmm, Tensor s, Tensor a, Tensor b, Scalar beta, Scalar alpha, Tensor out, int8_t cube) { put(out, at::addmm(s, rounded(a, cube), rounded(b, cube), beta, alpha)); }
OP(AddmmWeightNz, Tensor s, Tensor a, Tensor b, Scalar beta, Scalar alpha, Tensor out, int8_t cube) { put(out, at::addmm(s, rounded(a, cube), rounded(b, cube), beta, alpha)); }
OP(InplaceAddmm, Tensor s, Tensor a, Tensor b, Scalar beta, Scalar alpha, int8_t cube) { put(s, at::addmm(s, rounded(a, cube), rounded(b, cube), beta, alpha)); }
OP(Baddbmm, Tensor s, Tensor a, Tensor b, Scalar beta, Scalar alpha, Tensor out, int8_t cube) { put(out, at::baddbmm(s, rounded(a, cube), rounded(b, cube), beta, alpha)); }
OP(Addbmm, Tensor s, Tensor a, Tensor b, Scalar beta, Scalar alpha, Tensor out, int8_t cube) { put(out, at::addbmm(s, rounded(a, cube), rounded(b, cube), beta, alpha)); }
OP(Addmv, Tensor s, Tensor a, Tensor b, Scalar alpha, Scalar beta, Tensor out, int8_t cube) { put(out, at::addmv(s, rounded(a, cube), rounded(b, cube), beta, alpha)); }
OP(Addr, Tensor s, Tensor a, Tensor b, Scalar beta, Scalar alpha, Tensor out) { put(out, at::addr(s, a, b, beta, alpha)); }
OP(InplaceAddr, Tensor s, Tensor a, Tensor b, Scalar beta, Scalar alpha) { put(s, at::addr(s, a, b, beta, alpha)); }

OP(Inverse, Tensor a, Tensor out) { put(out, at::inverse(a)); }
OP(LinalgCross, Tensor a, Tensor b, int64_t dim, Tensor out) { put(out, at::linalg_cross(a, b, dim)); }
OP(LinalgCholesky, Tensor a, bool upper, Tensor out) { put(out, at::linalg_cholesky(a, upper)); }
OP(LinalgQr, Tensor a, int64_t mode, Tensor q, Tensor r) {
  auto [Q, R] = at::linalg_qr(a, mode == 0 ? "reduced" : mode == 1 ? "complete" : "r");
  if (mode != 2) put(q, Q);
  put(r, R);
}
OP(Svd, Tensor a, bool full, bool vectors, Tensor s, Tensor u, Tensor v) {
  auto [U, S, Vh] = at::_linalg_svd(a, full, vectors);
  put(s, S);
  if (vectors) {
    put(u, U);
    put(v, Vh.mH());
  }
}
OP(Slogdet, Tensor a, Tensor sign, Tensor logarithm) {
  auto [s, l] = at::slogdet(a);
  put(sign, s);
  put(logarithm, l);
}
OP(TriangularSolve, Tensor b, Tensor a, bool upper, bool transpose, bool unitriangular, Tensor x, Tensor copy) {
  put(x, at::linalg_solve_triangular(transpose ? a.mT() : a, b, upper != transpose, true, unitriangular));
  put(copy, a.expand(copy.sizes()));
}
