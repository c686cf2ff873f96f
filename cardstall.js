#!/usr/bin/env node
// The one file that an older Node can read: it says what is missing instead of failing on the first type.
var OLDEST_NODE = 26

if (Number(process.versions.node.split('.')[0]) < OLDEST_NODE) {
  process.stderr.write(
    `Cardstall needs Node ${OLDEST_NODE} or later and this is ${process.versions.node}. Start it with "npm start": it brings its own Node.\n`,
  )
  process.exit(1)
} else {
  import('node:module')
    .then((module) => {
      // Keeps compiled code between starts, which makes the next one quicker.
      module.enableCompileCache()
      return import('./server/main.ts')
    })
    .then((main) => main.run(process.argv.slice(2)))
}
