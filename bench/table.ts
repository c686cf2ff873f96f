import { readFileSync } from 'node:fs'
import type { Rates } from './engine.ts'
import type { Growth } from './growth.ts'
import type { Value } from './program.ts'
import { digits, table } from './report.ts'
import type { RateFigure, Results } from './results.ts'

/** CPU times are in microseconds per response. */
export const rateTable = (subject: string, figures: RateFigure[]) =>
  table(
    [
      subject,
      ...['per s', 'ratio', 'service µs', 'min–max', 'PG µs', 'limit µs', 'PG µs', '× limit'],
      ...['target', 'holds', 'p50 ms', 'p99 ms', 'generator'],
    ],
    figures.map((figure) => {
      const { name, service, limit } = figure
      return [
        name,
        digits(service.perSecond.median),
        digits(ratioOf(figure)),
        digits(service.service.median),
        `${digits(service.service.min)}–${digits(service.service.max)}`,
        digits(service.postgres.median),
        digits(limit.service.median),
        digits(limit.postgres.median),
        digits(timesLimit(figure)),
        targetOf(figure),
        figure.target ? verdict(holds(figure)) : '',
        digits(service.p50),
        digits(service.p99),
        percent((service.generator.median * service.perSecond.median) / 1e6),
      ]
    }),
  )

export const valueTable = (subject: string, values: Value[]) =>
  table(
    [subject, '', 'target', 'holds'],
    values.map((value) => [
      value.name,
      `${digits(value.value)} ${value.unit}`,
      limitOf(value),
      limitOf(value) && verdict(isWithin(value)),
    ]),
  )

const MAX_GROWTH = 1.3

/** The cost of a response is that of the service and of PostgreSQL together. */
export const growthTable = (subject: string, figures: Growth[]) =>
  table(
    [subject, 'µs small', 'large', 'PG µs small', 'large', 'p99 ms small', 'large', '×', 'holds'],
    figures.map(({ name, small, large }) => {
      const cost = (rates: Rates) => rates.service.median + rates.postgres.median
      const times = cost(large) / cost(small)
      return [
        name,
        digits(small.service.median),
        digits(large.service.median),
        digits(small.postgres.median),
        digits(large.postgres.median),
        digits(small.p99),
        digits(large.p99),
        digits(times),
        verdict(times <= MAX_GROWTH),
      ]
    }),
  )

const ratioOf = ({ service, limit }: RateFigure) =>
  service.perSecond.median / limit.perSecond.median

/** Multiple of the CPU time of the limit. */
const timesLimit = ({ service, limit }: RateFigure) => service.service.median / limit.service.median

const targetOf = ({ target = {} }: RateFigure) =>
  [
    target.timesBare && `${target.timesBare} ×`,
    target.micros && `${target.micros} µs`,
    target.perSecond && `${target.perSecond}/s`,
    target.ratio && `ratio ${target.ratio}`,
  ]
    .filter(Boolean)
    .join(', ')

function holds(figure: RateFigure): boolean {
  const { timesBare, micros, perSecond, ratio } = figure.target ?? {}
  const { service } = figure
  return (
    (timesBare === undefined || timesLimit(figure) <= timesBare) &&
    (micros === undefined || service.service.median <= micros) &&
    (perSecond === undefined || service.perSecond.median >= perSecond) &&
    (ratio === undefined || ratioOf(figure) >= ratio)
  )
}

const limitOf = ({ atMost, atLeast, unit }: Value) =>
  atMost !== undefined ? `≤ ${atMost} ${unit}` : atLeast !== undefined ? `≥ ${atLeast} ${unit}` : ''

const isWithin = ({ value, atMost, atLeast }: Value) =>
  value <= (atMost ?? Number.POSITIVE_INFINITY) && value >= (atLeast ?? Number.NEGATIVE_INFINITY)

const verdict = (holds: boolean) => (holds ? 'yes' : 'NO')
const percent = (share: number) => (Number.isNaN(share) ? '' : `${Math.round(share * 100)} %`)

/** `node bench/table.ts BEFORE.json AFTER.json` compares two results of `--json`. */
function compareResults(before: Results, after: Results): string {
  const rateBefore = new Map(before.rates.map((figure) => [figure.name, figure]))
  const valueBefore = new Map(before.values.map((value) => [value.name, value]))
  const rates = after.rates.map((figure) => {
    const old = rateBefore.get(figure.name)
    return [
      figure.name,
      old ? digits(old.service.service.median) : '',
      digits(figure.service.service.median),
      old ? digits(timesLimit(old)) : '',
      digits(timesLimit(figure)),
      old ? digits(old.service.postgres.median) : '',
      digits(figure.service.postgres.median),
      old ? digits(old.service.perSecond.median) : '',
      digits(figure.service.perSecond.median),
      targetOf(figure),
      figure.target ? verdict(holds(figure)) : '',
    ]
  })
  const values = after.values.map((value) => {
    const old = valueBefore.get(value.name)
    return [
      value.name,
      old ? digits(old.value) : '',
      `${digits(value.value)} ${value.unit}`,
      limitOf(value),
      limitOf(value) && verdict(isWithin(value)),
    ]
  })
  return [
    `Before: ${before.machine}\nAfter: ${after.machine}\n`,
    table(
      [
        'CPU per response',
        ...['service µs before', 'after', '× limit before', 'after', 'PG µs before', 'after'],
        ...['per s before', 'after', 'target', 'holds'],
      ],
      rates,
    ),
    '',
    table(['', 'before', 'after', 'target', 'holds'], values),
  ].join('\n')
}

if (import.meta.main) {
  const [before, after] = process.argv
    .slice(2)
    .map((file) => JSON.parse(readFileSync(file, 'utf8')) as Results)
  console.log(compareResults(before!, after!))
}
