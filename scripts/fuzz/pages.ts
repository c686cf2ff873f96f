import { CONDITIONS, LANGUAGES } from '../../server/enums.ts'
import type { Operation, Parameter, Schema } from './operations.ts'

const text: Schema = { type: 'string', maxLength: 210 }

/** The pages for buyers, which no published description has. */
export const marketOperations = (): Operation[] => {
  const page = (path: string, query: Record<string, Schema>): Operation => ({
    ...{ id: `GET ${path}`, credential: 'none', method: 'GET', path },
    parameters: Object.entries({ ...query, page: { type: 'integer' } }).map(
      ([name, schema]): Parameter => ({ name, in: 'query', schema }),
    ),
  })
  const filters: Record<string, Schema> = {
    condition: { enum: [...CONDITIONS] },
    language: { enum: [...LANGUAGES] },
  }
  const narrowing = { ...filters, region: text }
  return [
    page('/search', { q: text, kind: { enum: ['sets', 'products'] } }),
    page('/sets/{id}', narrowing),
    page('/cards/{id}', narrowing),
    page('/products/{slug}', filters),
    page('/shops/{slug}', filters),
  ]
}

/** Whether a browser shows the response to this target: then errors are pages as well. */
export const isPage = (target: string, status: number) =>
  /^\/(oauth\/(authorize|step)|device|search|sets|cards|products|shops)\b/.test(target) ||
  (status >= 400 && target.startsWith('/dashboard/api/'))
