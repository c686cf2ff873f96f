import { readFileSync } from 'node:fs'

const DOCS = new URL('../../docs/', import.meta.url)

/** What receivers read: docs/webhooks.md. */
export const webhooksPage = readFileSync(new URL('webhooks.md', DOCS), 'utf8')

/** The blocks of code that it shows in a language, in their order. */
export const shownBlocks = (language: string): string[] =>
  [...webhooksPage.matchAll(/^```(\w+)\n(.*?)^```$/gms)]
    .filter(([, its]) => its === language)
    .map(([, , block]) => block!)

/** Where an example stands, as a URL. */
export const exampleUrl = (name: string) => new URL(`examples/${name}`, DOCS)
