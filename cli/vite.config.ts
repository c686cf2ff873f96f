import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

/** One file without dependencies: it starts faster, and `npx` downloads nothing else. */
export default defineConfig({
  build: {
    ssr: fileURLToPath(new URL('src/main.ts', import.meta.url)),
    target: 'node22',
    minify: false,
    // The licences of the libraries in the file demand that copies come with them.
    license: { fileName: 'third-party-licenses.md' },
    rolldownOptions: {
      output: { entryFileNames: 'cardstall.js', banner: '#!/usr/bin/env node' },
    },
  },
  // The sources of the SDK, not its build.
  ssr: { noExternal: true, resolve: { conditions: ['cardstall', 'node', 'import', 'default'] } },
})
