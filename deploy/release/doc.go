// Release builds the image that a Dockerfile describes, as a tar archive, without a Docker engine.
//
// It reads the Dockerfile with buildkit's parser. It supports the instructions that an image from
// scratch with one program needs: FROM scratch, ARG, COPY of a file, LABEL, ENV, USER, EXPOSE,
// STOPSIGNAL, HEALTHCHECK, ENTRYPOINT and CMD. Any other instruction is an error.
//
// Guarantees: the same Dockerfile, files and flags give the same bytes. The archive contains no
// time, owner or file mode of the machine that builds it.
//
// It is a separate module, because the parser has many dependencies that the product does not need.
package main
