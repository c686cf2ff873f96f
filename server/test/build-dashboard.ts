import { dashboardBuild } from '../dashboard/build.ts'
import { createLog } from '../log.ts'

/**
 * Builds the dashboard unless its built files are current. A run of the tests does so once, before all tests; otherwise
 * the programs that tests start would build it.
 */
export async function buildDashboard(): Promise<void> {
  const build = dashboardBuild()
  const { log, flush } = createLog('error')
  await build.start(log).done
  flush()
  if ((await build.state()) !== 'ready') throw new Error('The dashboard could not be built.')
}
