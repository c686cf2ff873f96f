import { type Html, html } from './html.ts'

/**
 * A page without scripts: a form, or a message that the dashboard can't show itself.
 *
 * @param root the relative address of the service
 */
export const plainPage = (title: string, main: Html, root: string): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} · Cardstall</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${root}/signin/pages.css">
</head>
<body>
<header><a class="brand" href="${root}/">Cardstall</a></header>
<main>
<h1>${title}</h1>
${main}
</main>
</body>
</html>
`.text
