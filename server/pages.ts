/** Which part of a list is wanted (§8). `page` counts from 1. */
export type Page = { page: number; perPage: number; offset: number }
