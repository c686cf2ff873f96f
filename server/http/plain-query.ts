import type { TSchema } from 'typebox'
import { isMalformed, parseQuery, type Query } from './query.ts'
import { validatorCompiler } from './validate.ts'

/**
 * Reads the query of a URL for the fast lane, with the parser and validator of the ordinary path; undefined if a parameter
 * is unknown or invalid, which the ordinary path reports.
 */
export function plainQuery(querystring: TSchema | undefined): (url: string) => Query | undefined {
  const schema = (querystring ?? { properties: {} }) as { properties: object }
  const check = validatorCompiler({ schema: { ...schema }, ...QUERY })
  const parameters = new Set(Object.keys(schema.properties))
  return (url) => {
    const end = url.indexOf('?')
    const query = parseQuery(end < 0 ? '' : url.slice(end + 1))
    if (isMalformed(query) || url.includes('#')) return undefined
    for (const name in query) if (!parameters.has(name)) return undefined
    return 'error' in (check(query) as object) ? undefined : query
  }
}

const QUERY = { httpPart: 'querystring', method: 'GET', url: '' }
