/** Parsers for the text of /metrics. */

/** The value of a sample, which is named as on the page; undefined if it is absent. */
export function sampleValue(page: string, sample: string): number | undefined {
  const line = page.split('\n').find((line) => line.startsWith(`${sample} `))
  return line === undefined ? undefined : Number(line.slice(sample.length + 1))
}

/** The labels of each sample of a metric; a histogram's are those of its buckets, sum and count. */
export function samplesOf(page: string, metric: string): Record<string, string>[] {
  const sample = new RegExp(`^${metric}(?:_bucket|_sum|_count)?(?:\\{(.*)\\})? \\S+$`, 'gm')
  return [...page.matchAll(sample)].map(([, labels = '']) =>
    Object.fromEntries(
      [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
    ),
  )
}
