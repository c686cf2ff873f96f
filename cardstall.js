#!/usr/bin/env node
// Must run on old versions of Node, to print a clear error instead of a syntax error.
var OLDEST_NODE = 26

if (Number(process.versions.node.split('.')[0]) < OLDEST_NODE) {
  process.stderr.write(
    `Cardstall needs Node ${OLDEST_NODE} or later, but this is ${process.versions.node}. Use "npm start", which runs the Node that "npm ci" installed. If you did, it installed none, because it was told to leave out development dependencies or install scripts: run it without these options.\n`,
  )
  process.exit(1)
} else {
  if (process.argv[2] === undefined || process.argv[2] === 'serve') saveMemory()
  // Caches compiled code, which makes the next start faster.
  process.getBuiltinModule('node:module').enableCompileCache()
  import('./server/bundle/bundle.ts')
    .then((bundle) => bundle.loadProgram())
    .then((main) => main.run(process.argv.slice(2)))
}

/**
 * Replaces this process by itself, with the same id and with settings for less memory that only a start can set: smaller
 * young generations, and one pool of malloc instead of up to eight per core. A caller who sets the size of the young
 * generation keeps this process, and so does a system that can't replace it.
 */
function saveMemory() {
  var option = '--max-semi-space-size'
  var isSet = process.execArgv
    .concat(process.env.NODE_OPTIONS || '')
    .join(' ')
    .includes(option)
  if (isSet || process.platform === 'win32') return
  process.execve(
    process.execPath,
    // biome-ignore lint/style/useTemplate: an old Node must be able to read this file.
    [process.execPath, option + '=8'].concat(process.execArgv, process.argv.slice(1)),
    Object.assign({ MALLOC_ARENA_MAX: '1' }, process.env),
  )
}
