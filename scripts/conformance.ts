import { spawnSync } from 'node:child_process'

/**
 * Runs the scenarios of the Model Context Protocol's conformance suite that need no tools of its own against a running
 * service (CONTRIBUTING.md). All others call tools, prompts and resources that only a test server has.
 */

/** Not a dependency, because it brings 120 packages: npx fetches it. */
const SUITE = '@modelcontextprotocol/conformance@0.1.16'
const SCENARIOS = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection']

const [url = 'http://localhost:3000/mcp'] = process.argv.slice(2)

const failed = SCENARIOS.filter((scenario) => {
  const parameters = ['--yes', SUITE, 'server', '--url', url, '--scenario', scenario]
  const { status } = spawnSync('npx', parameters, { stdio: 'inherit' })
  return status !== 0
})
if (failed.length > 0) {
  process.stderr.write(`These scenarios failed: ${failed.join(', ')}\n`)
  process.exitCode = 1
}
