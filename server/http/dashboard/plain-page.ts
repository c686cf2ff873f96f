import { type Html, html } from '../html.ts'

/**
 * A page without scripts, for what the dashboard can't say itself.
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
