import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import Fastify from 'fastify'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { MAX_PATH_LENGTH } from '../../http/sign-in/own-path.ts'
import { smtpMailer } from '../../mail/smtp.ts'
import { routes } from '../../routes.ts'
import { startTestApp, type TestApp } from '../app.ts'
import { startMailServer } from '../fakes/mail-server.ts'
import { authorizeUrl, register } from '../fixtures/oauth.ts'
import { samplesOf } from '../metrics.ts'
import { newDirectory } from '../new-directory.ts'

type Rule = { alert: string; expr: string; annotations: { summary: string } }
type Panel = {
  id: number
  type: string
  title: string
  fieldConfig: { defaults: { unit?: string } }
}
type Target = { expr: string; datasource: { uid: string } }

const DEPLOY = new URL('../../../deploy/', import.meta.url)
const read = (file: string) => readFile(new URL(file, DEPLOY), 'utf8')

let app: TestApp
let page: string
let rules: Rule[]
let dashboard: { uid: string; panels: (Panel & { targets?: Target[] })[] }
let expressions: string[]
beforeAll(async () => {
  app = await startTestApp({
    settings: { REDIS_URL: 'redis://127.0.0.1:1', DATA_DIR: tmpdir() },
  })
  await app.anyone.get('/v1/me')
  page = (await app.operator.get('/metrics')).text
  rules = parse(await read('prometheus/alerts.yml')).groups.flatMap(
    (group: { rules: Rule[] }) => group.rules,
  )
  dashboard = JSON.parse(await read('grafana/cardstall.json'))
  const targets = dashboard.panels.flatMap(({ targets = [] }) => targets)
  expressions = [...rules, ...targets].map(({ expr }) => expr)
})

const promtool = spawnSync('promtool', ['--version']).error === undefined
if (!promtool) console.warn('SKIPPED: evaluating the alert rules needs promtool of Prometheus.')

/** The sum of an expression's series at a minute; undefined if it has none. */
type Evaluation = { minute: number; expr: string; sum: number | undefined }

/** Evaluates expressions and the alert rules on counters, which count an event at each of the given minutes. */
async function evaluate(counters: Record<string, number[]>, evaluations: Evaluation[]) {
  const minutes = Math.max(...evaluations.map(({ minute }) => minute))
  const valueAt = (events: number[], minute: number) => events.filter((at) => at <= minute).length
  const test = {
    interval: '1m',
    input_series: Object.entries(counters).map(([series, events]) => ({
      series,
      values: Array.from({ length: minutes + 1 }, (_, i) => valueAt(events, i)).join(' '),
    })),
    promql_expr_test: evaluations.map(({ minute, expr, sum }) => ({
      eval_time: `${minute}m`,
      expr: `sum(${expr})`,
      exp_samples: sum === undefined ? [] : [{ labels: '{}', value: sum }],
    })),
  }
  const file = path.join(await newDirectory(), 'test.yml')
  const rule_files = [fileURLToPath(new URL('prometheus/alerts.yml', DEPLOY))]
  writeFileSync(file, stringify({ rule_files, evaluation_interval: '1m', tests: [test] }))
  execFileSync('promtool', ['test', 'rules', file], { stdio: 'pipe' })
}

const FIRING = 'ALERTS{alertname="CardstallMailFailing", alertstate="firing"}'
const everyHalfHour = (from: number, to: number) =>
  Array.from({ length: (to - from) / 30 + 1 }, (_, i) => from + i * 30)

const mailAttempts = (attempts: Record<string, number[]>) =>
  Object.fromEntries(
    Object.entries(attempts).map(([outcome, minutes]) => [
      `cardstall_mail_attempts_total{job="cardstall", outcome="${outcome}"}`,
      minutes,
    ]),
  )

/** Labels that Prometheus itself adds. */
const TARGET_LABELS = ['job', 'instance']
/** Labels whose values depend on the requests; the others have all of their values on the page from the start. */
const OPEN_LABELS = ['method', 'route', 'status', 'state', 'le']

/** Each metric that an expression selects, with its label matchers. */
const selectorsIn = (expr: string) =>
  [...expr.matchAll(/\b((?:cardstall|nodejs|process)_\w+|up)\b(?:\{([^}]*)\})?/g)].map(
    ([, metric, matchers = '']) => ({
      metric: metric!,
      matchers: [...matchers.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)].map(
        ([, label, operator, value]) => ({ label: label!, operator: operator!, value: value! }),
      ),
    }),
  )

/** The samples of a metric, or of a histogram by one of its series. */
function samplesFor(metric: string): Record<string, string>[] {
  const base = metric.replace(/_(bucket|count|sum)$/, '')
  const isHistogram = page.includes(`# TYPE ${base} histogram`)
  const name = isHistogram ? base : metric
  return page.includes(`# TYPE ${name} `) ? samplesOf(page, name) : []
}

describe('every expression of the alert rules and the dashboard', () => {
  it('alert rules and dashboard use only metrics of /metrics', () => {
    const selected = expressions.flatMap(selectorsIn).map(({ metric }) => metric)
    expect(selected.length).toBeGreaterThan(30)
    const missing = selected.filter((metric) => {
      return metric !== 'up' && samplesFor(metric).length === 0
    })
    expect(missing).toEqual([])
  })

  it('alert rules and dashboard use only labels and values of these metrics', () => {
    for (const expr of expressions) {
      const selectors = selectorsIn(expr)
      const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, by]) => by!.split(/, */))
      const known = selectors.flatMap(({ metric }) => samplesFor(metric).flatMap(Object.keys))
      for (const label of grouped) expect([...known, ...TARGET_LABELS], expr).toContain(label)
      for (const { metric, matchers } of selectors) {
        for (const { label, operator, value } of matchers) {
          if (TARGET_LABELS.includes(label)) continue
          const values = samplesFor(metric).flatMap((sample) => sample[label] ?? [])
          expect(values.length, `${label} in ${expr}`).toBeGreaterThan(0)
          if (OPEN_LABELS.includes(label)) continue
          const wanted = operator.endsWith('~') ? value.split('|') : [value]
          for (const one of wanted) expect(values, expr).toContain(one)
        }
      }
    }
  })
})

/** Routes that are slow by design: long requests, and purchases of labels, which wait for the carrier. */
async function slowRoutes(method?: string): Promise<string[]> {
  const urls: string[] = []
  const collecting = Fastify()
  collecting.setValidatorCompiler(() => () => true)
  collecting.setSerializerCompiler(() => JSON.stringify)
  collecting.addHook('onRoute', ({ url, method: own, config }) => {
    if (method !== undefined && own !== method) return
    if (config?.isLong || /\/labels?$/.test(url)) urls.push(url)
  })
  routes(collecting as never, app.ctx, { add() {} })
  await collecting.ready()
  await collecting.close()
  return urls
}

it('percentiles of all requests leave out the routes that are slow by design', async () => {
  const slow = await slowRoutes()
  expect(slow).toEqual(expect.arrayContaining(['/tools/v1/changes', '/tools/v1/labels']))
  const ofAll = expressions.filter((expr) => /sum by \((job, )?le\)/.test(expr))
  const matchers = ofAll.flatMap(selectorsIn).flatMap(({ metric, matchers }) => {
    return metric === 'cardstall_http_request_duration_seconds_bucket' ? matchers : []
  })
  const ofRoutes = matchers.filter(({ label }) => label === 'route')
  expect(ofRoutes).toHaveLength(4)
  for (const { operator, value } of ofRoutes) {
    expect(operator).toBe('!~')
    // Prometheus matches the whole value.
    expect(slow.filter((url) => !new RegExp(`^(?:${value})$`).test(url))).toEqual([])
    expect('/v1/listings').not.toMatch(new RegExp(`^(?:${value})$`))
  }
})

describe('the alert rules', () => {
  it('alert rules have unique names and a description', () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
    for (const { annotations } of rules) expect(annotations.summary).toBeTruthy()
  })

  /** The minutes of the attempts at e-mails that are written at these minutes, if all fail: four, and the last one. */
  const failing = (written: number[]) => ({
    failed: written.flatMap((minute) => [0, 1, 11, 71].map((later) => minute + later)),
    given_up: written.map((minute) => minute + 431),
  })

  it.skipIf(!promtool)(
    'CardstallMailFailing notices that all of the few e-mails of a small marketplace fail, long before the first one is given up',
    async () => {
      const attempts = { sent: everyHalfHour(0, 360), ...failing(everyHalfHour(390, 1440)) }
      const firing = [390 + 4 * 60, 820, 1440]
      await evaluate(mailAttempts(attempts), [
        { minute: 389, expr: FIRING, sum: undefined },
        ...firing.map((minute) => ({ minute, expr: FIRING, sum: 1 })),
      ])
    },
  )

  it.skipIf(!promtool)(
    'CardstallMailFailing ignores a recipient whose e-mails fail, while those to others are sent',
    async () => {
      const attempts = { sent: everyHalfHour(0, 1440), ...failing([300, 600]) }
      await evaluate(mailAttempts(attempts), [
        { minute: 1440, expr: `count_over_time(${FIRING}[1d])`, sum: undefined },
      ])
    },
  )

  it.skipIf(!promtool)(
    'CardstallJobFailing notices a job that fails at each of its runs, once an hour, and ignores a single failure',
    async () => {
      const failures = { 'cardstall_job_failures_total{job="cardstall"}': [10, 400, 460, 520] }
      const firing = 'ALERTS{alertname="CardstallJobFailing", alertstate="firing"}'
      await evaluate(failures, [
        ...[20, 399].map((minute) => ({ minute, expr: firing, sum: undefined })),
        ...[470, 525].map((minute) => ({ minute, expr: firing, sum: 1 })),
      ])
    },
  )
})

describe('the dashboard', () => {
  it('the dashboard can be imported: a uid, unique panels with units, a variable data source', () => {
    expect(dashboard.uid).toBe('cardstall')
    const { panels } = dashboard
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    for (const { type, title, fieldConfig, targets = [] } of panels) {
      if (type === 'row') continue
      expect(fieldConfig.defaults.unit, title).toBeTruthy()
      expect(targets.length, title).toBeGreaterThan(0)
      // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana's own syntax
      for (const { datasource } of targets) expect(datasource.uid).toBe('${datasource}')
    }
  })

  it.skipIf(!promtool)(
    'the panel of failed requests shows 0 % until the first one fails, instead of no data',
    async () => {
      const { targets } = dashboard.panels.find(({ title }) => title === 'Failed requests')!
      const expr = targets![0]!.expr
        .replaceAll('$job', 'cardstall')
        .replaceAll('$__rate_interval', '5m')
      const responses = (status: number) =>
        `cardstall_http_request_duration_seconds_count{job="cardstall", status="${status}"}`
      const everyMinute = Array.from({ length: 60 }, (_, i) => i)
      await evaluate({ [responses(200)]: everyMinute }, [{ minute: 59, expr, sum: 0 }])
      await evaluate({ [responses(200)]: everyMinute, [responses(500)]: everyMinute }, [
        { minute: 59, expr, sum: 0.5 },
      ])
    },
  )
})

describe('the example for systemd', () => {
  it('journald keeps the lines of all responses, because they are the record of the requests that a backup lacks', async () => {
    const unit = await read('systemd/cardstall.service')
    const [, seconds] = /^LogRateLimitIntervalSec=(\d+)s$/m.exec(unit) ?? []
    const [, lines] = /^LogRateLimitBurst=(\d+)$/m.exec(unit) ?? []
    // An interval of 0 would leave journald's own limit in force.
    expect(Number(seconds)).toBeGreaterThan(0)
    expect(Number(lines) / Number(seconds)).toBeGreaterThan(30_000)
  })

  it('the mail server of the example, on the same machine, may have a certificate that is not valid, as Postfix of Debian has', async () => {
    // With the library's own certificate, which is self-signed and has expired.
    const server = await startMailServer({ disabledCommands: [] })
    const [, url] = /^#SMTP_URL=(\S+)$/m.exec(await read('systemd/cardstall.env'))!
    const mailer = smtpMailer(url!.replace(':25', `:${server.port}`), {
      name: '',
      address: 'shop@cards.example',
    })
    const mail = { id: 1, attempts: 1, to: 'misty@shops.example', subject: 'Hello', text: 'Hello' }
    const now = new Date()
    const state = {
      status: 'waiting',
      error: null,
      sliceKey: null,
      createdAt: now,
      sentAt: null,
      accountId: null,
      isSlow: false,
    } as const
    const sent = mailer.deliver({ ...mail, ...state }, AbortSignal.timeout(10_000))
    expect(await sent.finally(() => mailer.close())).toBe('sent')
  })
})

describe('the proxies', () => {
  let nginx: string
  let caddy: string
  beforeAll(async () => {
    nginx = await read('nginx/cardstall.conf')
    caddy = await read('caddy/Caddyfile')
  })

  /** The directives of the location that nginx chooses for a path: the first regular expression, otherwise `/`. */
  function locationOf(path: string): string {
    const [first, ...others] = [...nginx.matchAll(/location (?:(~) )?(\S+) \{([^}]*)\}/g)]
    const matching = others.find(([, , pattern]) => new RegExp(pattern!).test(path))
    expect(others.every(([, isRegExp]) => isRegExp)).toBe(true)
    return (matching ?? first!)[3]!
  }

  /** The paths of Caddy's matchers, and their names. */
  const caddyPaths = () =>
    [...caddy.matchAll(/^\t@(\w+) (?:not )?path (.*)$/gm)].map(([, name, paths]) => ({
      name: name!,
      paths: paths!.split(' '),
    }))

  it.each([
    ['/metrics', 'return 404'],
    ['/operator/v1/catalog/import', 'client_max_body_size 0;'],
    ['/operator/v1/accounts/7/events/stream', 'proxy_buffering off;'],
  ])(
    'nginx treats %s with a trailing slash as the same path, as the service does',
    (path, directive) => {
      expect(locationOf(path)).toContain(directive)
      expect(locationOf(`${path}/`)).toContain(directive)
      expect(locationOf(`${path}x`)).not.toContain(directive)
    },
  )

  it('Caddy treats /metrics and the import with a trailing slash as the same path, as the service does', () => {
    const importPath = '/operator/v1/catalog/import'
    expect(caddyPaths()).toEqual([
      { name: 'metrics', paths: ['/metrics', '/metrics/'] },
      { name: 'bounded', paths: [importPath, `${importPath}/`] },
      {
        name: 'long',
        paths: [importPath, '*/close', '*/erase', '*/resend'].flatMap((path) => [path, `${path}/`]),
      },
    ])
    for (const name of ['metrics', 'long']) expect(caddy).toContain(`handle @${name} {`)
    expect(caddy).not.toMatch(/handle \//)
  })

  it('nginx replaces the address that a client claims to have', () => {
    // A forwarded private address would be trusted, and the claimed one taken.
    expect(nginx).toContain('proxy_set_header X-Forwarded-For $remote_addr;')
  })

  it('nginx waits longer for the bytes of an import than the service, whose error says more', () => {
    const [, seconds] = /client_body_timeout (\d+)s/.exec(
      locationOf('/operator/v1/catalog/import'),
    )!
    expect(Number(seconds) * 1000).toBeGreaterThan(app.app.server.requestTimeout)
  })

  it('the proxies of the examples wait longer than the 130 seconds that labels of several orders take', () => {
    const [, inNginx] = /^ {4}proxy_read_timeout (\d+)s/m.exec(nginx)!
    const [, inCaddy] = /response_header_timeout (\d+)s/.exec(caddy)!
    expect(Number(inNginx)).toBeGreaterThan(130)
    expect(inCaddy).toBe(inNginx)
    expect(locationOf('/tools/v1/labels')).not.toContain('timeout')
  })

  it('the proxies of the examples wait for requests that respond when all is done, however long they take', async () => {
    const { paths } = caddyPaths().find(({ name }) => name === 'long')!
    const posted = (await slowRoutes('POST')).filter((url) => !/\/labels?$/.test(url))
    expect(posted).toContain('/operator/v1/accounts/:id/close')
    for (const url of posted) {
      const path = url.replace(/:\w+/g, '7')
      for (const sent of [path, `${path}/`]) {
        expect(locationOf(sent), sent).toContain('proxy_read_timeout 3600s;')
        const matches = paths.some((p) =>
          p.startsWith('*') ? sent.endsWith(p.slice(1)) : sent === p,
        )
        expect(matches, sent).toBe(true)
      }
    }
  })

  it('the proxies of the examples log no query and no referrer, because these contain links to labels and passwords, and buyers’ data', () => {
    const [, format] = /^log_format cardstall '(.*)';$/m.exec(nginx)!
    expect(format).toContain('$request_method $uri')
    expect(format).not.toMatch(/\$(request|request_uri|args|arg_\w+|query_string|http_referer)\b/)
    const servers = nginx.split(/^server \{$/m).slice(1)
    expect(servers).toHaveLength(2)
    for (const server of servers) {
      expect(server.match(/access_log .*/g)).toEqual([
        'access_log /var/log/nginx/access.log cardstall;',
      ])
    }
    expect(caddy).not.toMatch(/^\s*log\b/m)
  })

  it('nginx has room for the headers of the longest redirect to sign in, whose program sent a long state', async () => {
    const clientId = await register(app)
    // Signs that are escaped in the address, and again in the redirect.
    const state = '"'.repeat(Math.floor((MAX_PATH_LENGTH - authorizeUrl(clientId).length) / 3))
    const response = await app.anyone.get(authorizeUrl(clientId, { state }))
    expect(response.status).toBe(303)
    const sent = Object.entries(response.headers).map((header) => `${header.join(': ')}\r\n`)
    const [, kibibytes] = /^ {4}proxy_buffer_size (\d+)k;/m.exec(nginx) ?? [undefined, 4]
    expect(sent.join('').length).toBeLessThan(Number(kibibytes) * 1024)
  })

  it('nginx passes the Host header on with its port', () => {
    expect(nginx).toContain('proxy_set_header Host $http_host;')
  })
})
