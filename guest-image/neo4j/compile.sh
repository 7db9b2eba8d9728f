#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs inside the build root: compile /src/driver and make a Java run-time of what Neo4j's kernel needs, into /neo4j.tar.
set -euo pipefail
export PATH=/usr/lib/jvm/java-21-openjdk-amd64/bin:/usr/sbin:/usr/bin
mkdir -p /stage/jars
cp /src/jars/*.jar /stage/jars/
javac -proc:none -Xlint:all -Werror -cp '/src/jars/*' -d /stage/driver /src/driver/*.java
jlink --add-modules java.base,java.logging,java.xml,java.management,jdk.unsupported,java.transaction.xa \
    --strip-java-debug-attributes --no-header-files --no-man-pages --output /stage/java
tar -C /stage -cf /neo4j.tar .
