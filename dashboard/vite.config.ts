import path from 'node:path'
import { gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { readScalar } from '../server/http/public/scalar.ts'

/** The service that the development server sends API calls and sign-in pages to. */
const SERVICE = process.env.CARDSTALL ?? 'http://localhost:3000'

/** The requests that the development server passes on to it. */
const API_PATHS = [
  '/dashboard/api',
  '/operator',
  '/signin',
  '/signout',
  '/password',
  '/photos',
  '/labels',
  '/health',
]

/**
 * Small files that several pages share: without these groups, each would be a request. Dialogs and menus are not among them,
 * because they bring libraries that not every page needs. The frame is all that both start with.
 */
const GROUPS = [
  { name: 'frame', tags: ['$initial' as const], minShareCount: 2 },
  {
    name: 'ui',
    test: /dashboard\/src\/(changes|ui\/(?!dialog|menu|palette|secret))|server\/enums/,
  },
  {
    name: 'seller',
    test: /src\/(\w+\/(api|words)|payouts\/setup-notice|reviews\/review|shell\/hidden-shop-notice)\.ts/,
    minShareCount: 2,
  },
  {
    name: 'staff',
    test: /src\/console\/(days|delivery-table|filters|payouts\/ledger|record-list|seller-link|statuses)\.ts/,
  },
]

/** Adds the script of the API reference at /docs to the built files, plain and compressed. */
const reference: Plugin = {
  name: 'api-reference',
  async generateBundle() {
    const source = await readScalar()
    this.emitFile({ type: 'asset', fileName: 'scalar.js', source })
    this.emitFile({ type: 'asset', fileName: 'scalar.js.gz', source: gzipSync(source) })
  },
}

/** Leaves out the texts of React Aria in languages that the dashboard doesn't have. React Aria filters empty ones. */
const english: Plugin = {
  name: 'english',
  load: {
    filter: { id: /react-aria.*\/intl\/.*\/(?!en-)[a-z]{2}-[A-Z]{2}\.mjs$/ },
    handler: () => 'export default null',
  },
}

export default defineConfig(({ command }) => {
  // Vite keeps a NODE_ENV of its environment. Any other value selects React's development build.
  if (command === 'build') process.env.NODE_ENV = 'production'
  return {
    root: import.meta.dirname,
    // Relative in the built page, so that it works under any path prefix of a proxy.
    base: command === 'serve' ? '/dashboard/' : './',
    plugins: [react(), reference, english],
    build: {
      outDir: 'dist',
      rolldownOptions: {
        input: ['index.html', 'console.html'].map((page) => path.join(import.meta.dirname, page)),
        output: { codeSplitting: { groups: GROUPS } },
      },
      emptyOutDir: true,
      // Browsers with light-dark() and nested CSS.
      target: ['chrome123', 'edge123', 'firefox121', 'safari17.5'],
      // A data: URL in a style sheet or script would need exceptions in the Content-Security-Policy.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      // The service reads it, to name the files of a page in its HTML.
      manifest: true,
      // The notices that the licences of the bundled libraries demand.
      license: { fileName: 'third-party-licenses.md' },
    },
    server: {
      proxy: {
        '/console': { target: SERVICE, bypass: () => '/dashboard/console.html' },
        ...Object.fromEntries(
          API_PATHS.map(
            // Writes are accepted from the service's own origin.
            (path) => [path, { target: SERVICE, changeOrigin: true, headers: { origin: SERVICE } }],
          ),
        ),
      },
    },
  }
})
