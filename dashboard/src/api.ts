/** Shapes that several pages share. Each page has its calls in its own api.ts. */

/** One record. */
export type Data<T> = { data: T }

/** One page of a list. */
export type Paginated<T> = {
  data: T[]
  meta: { current_page: number; last_page: number; per_page: number; total: number }
}
