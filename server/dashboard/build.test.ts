import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import type { Log } from '../log.ts'
import { buildProgram } from '../test/build.ts'
import { newDirectory } from '../test/new-directory.ts'
import { dashboardBuild } from './build.ts'

/** A repository whose Vite copies the sources, fails, or never ends. */
async function repository({ vite }: { vite?: string } = {}) {
  const home = await newDirectory()
  const root = path.join(home, 'dashboard')
  await mkdir(path.join(root, 'src'), { recursive: true })
  await writeFile(path.join(root, 'index.html'), 'page')
  if (vite) {
    await mkdir(path.join(home, 'node_modules/vite/bin'), { recursive: true })
    await writeFile(path.join(home, 'node_modules/vite/bin/vite.js'), vite)
  }
  return root
}

const COPY = `
  const fs = require('node:fs')
  const [, , , root, , target] = process.argv
  fs.mkdirSync(target, { recursive: true })
  fs.copyFileSync(root + '/index.html', target + '/index.html')
  fs.appendFileSync(root + '/../builds', 'x')
`

function recordingLog() {
  const errors: unknown[] = []
  const log = { info() {}, error: (fields: unknown) => errors.push(fields) }
  return { log: log as unknown as Log, errors }
}

const build = async (root: string) => {
  const { log, errors } = recordingLog()
  await dashboardBuild(root).start(log).done
  return errors
}

const buildsOf = (root: string) => readFile(path.join(root, '../builds'), 'utf8')

it('a start builds the dashboard once, and again after a source has changed', async () => {
  const root = await repository({ vite: COPY })
  expect(await dashboardBuild(root).state()).toBe('building')
  await build(root)
  await build(root)
  expect(await dashboardBuild(root).state()).toBe('ready')
  expect(await buildsOf(root)).toBe('x')

  await writeFile(path.join(root, 'src/new.ts'), 'changed')
  expect(await dashboardBuild(root).state()).toBe('building')
  await build(root)
  expect(await buildsOf(root)).toBe('xx')
})

it('services that start at the same time build the dashboard once', async () => {
  const root = await repository({ vite: COPY })
  await Promise.all(Array.from({ length: 3 }, () => build(root)))
  expect(await buildsOf(root)).toBe('x')
})

it('a failed build is logged with its output, and tried again at the next start', async () => {
  const root = await repository({ vite: 'console.error("no such file"); process.exit(1)' })
  expect(await build(root)).toEqual([{ output: expect.stringContaining('no such file') }])
  expect(await dashboardBuild(root).state()).toBe('failed')
  await writeFile(path.join(root, '../node_modules/vite/bin/vite.js'), COPY)
  await build(root)
  expect(await dashboardBuild(root).state()).toBe('ready')
})

it('a build that the system killed is logged with the signal, the likely cause and the remedy', async () => {
  const root = await repository({ vite: 'process.kill(process.pid, "SIGKILL")' })
  const reason = expect.stringMatching(/^it was killed \(SIGKILL\).*memory.*npm run build/)
  expect(await build(root)).toEqual([{ reason, output: '' }])
})

it('a stopped service ends its build, and leaves no failure behind', async () => {
  const root = await repository({ vite: 'setInterval(() => {}, 1000)' })
  const { log, errors } = recordingLog()
  await dashboardBuild(root).start(log).stop()
  expect(errors).toEqual([])
  expect(await dashboardBuild(root).state()).toBe('building')
})

it('an installation without tools serves the files that it has', async () => {
  const root = await repository()
  expect(await dashboardBuild(root).state()).toBe('missing')
  await mkdir(path.join(root, 'dist'))
  await writeFile(path.join(root, 'dist/.built-from'), 'other sources')
  expect(await dashboardBuild(root).state()).toBe('ready')
})

it('the dashboard has the production build of React, also if NODE_ENV has another value', async () => {
  expect(process.env.NODE_ENV).toBe('test')
  await buildProgram()
  const assets = path.join(dashboardBuild().directory, 'assets')
  const files: string[] = []
  for (const name of await readdir(assets)) {
    if ((await readFile(path.join(assets, name), 'utf8')).includes('jsxDEV')) files.push(name)
  }
  expect(files).toEqual([])
})

it('the built dashboard comes with the licences of the libraries in its scripts', async () => {
  await buildProgram()
  const file = path.join(dashboardBuild().directory, 'third-party-licenses.md')
  const licences = await readFile(file, 'utf8')
  expect(licences).toContain('Copyright (c) Meta Platforms')
  const named = [...licences.matchAll(/^## (\S+) - /gm)].map(([, name]) => name)
  expect(named).toEqual(expect.arrayContaining(['react', 'react-aria', 'wouter', 'papaparse']))
})
