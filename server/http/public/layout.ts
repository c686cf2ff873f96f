import type { Config } from '../../config.ts'
import { signInAddress } from '../own-origin.ts'
import { escapeHtml } from '../page.ts'

/**
 * Renders a page with the service's header.
 *
 * @param root relative URL from the page to the service, such as `../..`, so that pages work under any path prefix
 * @param main HTML of the content
 */
export const layout = ({
  title,
  root,
  main,
  config,
}: {
  title: string
  root: string
  main: string
  config: Config
}) =>
  `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${escapeHtml(title)}</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${root}/docs/pages.css">
  </head>
  <body>
    <header>
      <nav aria-label="Documentation">
        <a href="${root}/">Cardstall</a>
        <a href="${root}/docs/guides/">Guides</a>
        <a href="${root}/docs">API reference</a>
        <a href="${escapeHtml(signInAddress(config, root))}">Sign in</a>
      </nav>
    </header>
    <main>
${main}
    </main>
  </body>
</html>
`
