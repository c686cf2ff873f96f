import { bundleProgram } from '../bundle/bundle.ts'
import { dashboardBuild } from '../dashboard/build.ts'
import { createLog } from '../log.ts'

/**
 * Bundles the program and builds the dashboard, unless both are current. A run of the tests does so once, before all
 * tests; otherwise the programs that tests start would do it.
 */
export async function buildProgram(): Promise<void> {
  if (!(await bundleProgram())) throw new Error('The program could not be bundled.')
  const build = dashboardBuild()
  const { log, flush } = createLog('error')
  await build.start(log).done
  flush()
  if ((await build.state()) !== 'ready') throw new Error('The dashboard could not be built.')
}
