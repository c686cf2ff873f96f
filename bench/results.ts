import type { Rates, Target } from './engine.ts'
import type { Growth } from './growth.ts'
import type { Size } from './market.ts'
import type { Value } from './program.ts'

/** The figures of a run: `--json` writes them, and table.ts compares two of them. */
export type Results = {
  machine: string
  size: Size
  rates: RateFigure[]
  values: Value[]
  growth: Growth[]
}

/** The rates of a row, and those of its limit. */
export type RateFigure = { name: string; target?: Target; service: Rates; limit: Rates }
