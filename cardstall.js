#!/usr/bin/env node
// Must run on old versions of Node, to print a clear error instead of a syntax error.
var OLDEST_NODE = 26

if (Number(process.versions.node.split('.')[0]) < OLDEST_NODE) {
  process.stderr.write(
    `Cardstall needs Node ${OLDEST_NODE} or later, but this is ${process.versions.node}. Use "npm start", which runs the Node that npm installed.\n`,
  )
  process.exit(1)
} else {
  import('node:module')
    .then((module) => {
      // Caches compiled code, which makes the next start faster.
      module.enableCompileCache()
      return import('./server/main.ts')
    })
    .then((main) => main.run(process.argv.slice(2)))
}
