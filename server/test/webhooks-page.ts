import { readFileSync } from 'node:fs'

const DOCS = new URL('../../docs/', import.meta.url)

/** docs/webhooks.md, the guide for receivers. */
export const webhooksPage = readFileSync(new URL('webhooks.md', DOCS), 'utf8')

/** The guide's code blocks in a language. */
export const shownBlocks = (language: string): string[] =>
  [...webhooksPage.matchAll(/^```(\w+)\n(.*?)^```$/gms)]
    .filter(([, its]) => its === language)
    .map(([, , block]) => block!)

/** The URL of an example file. */
export const exampleUrl = (name: string) => new URL(`examples/${name}`, DOCS)
