#!/bin/sh
# SPDX-License-Identifier: MIT
# verdict: kind=churn module=libcrypto.so.3 not=CRYPTO_malloc,CRYPTO_zalloc
# source: https://github.com/openssl/openssl/issues/25858: a digest by EVP takes 1.5 to 4 times as long as before version 3; contexts are
#         made and names looked up for each one.
. "$(dirname "$0")/lib"
needs_header openssl/evp.h libssl-dev
cat >digest.c <<'END'
#include <openssl/evp.h>
#include <stdio.h>

static int digest_of(const char *text, int length, unsigned char *out)
{
	unsigned bytes = 0;

	return EVP_Digest(text, (size_t)length, out, &bytes, EVP_sha256(), NULL) && bytes == 32;
}

int main(void)
{
	unsigned char out[EVP_MAX_MD_SIZE];
	char text[32];
	int right = 0;

	for (int i = 0; i < 100000; i++)
		right += digest_of(text, sprintf(text, "password %d", i), out);
	return right != 100000;
}
END
gcc -O1 -g -o digest digest.c -lcrypto
record ./digest
