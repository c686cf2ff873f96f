import { spawn } from 'node:child_process'

/** Opens an address in a browser. Best effort, because the address is on the terminal as well. */
export function openInBrowser(url: string): void {
  if (!/^https?:/.test(url)) return
  const [program, ...options] = PROGRAMS[process.platform] ?? ['xdg-open']
  spawn(program, [...options, url], { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref()
}

const PROGRAMS: Partial<Record<NodeJS.Platform, [program: string, ...options: string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}
