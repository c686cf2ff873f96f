/**
 * Deliveries of a list that its pages reach. A page reads all newer deliveries of each endpoint, because ids alone are in
 * order. The dashboard has the same limit.
 */
export const MAX_PAGED = 10_000
