import { bundleProgram } from '../server/bundle/bundle.ts'
import { dashboardBuild } from '../server/dashboard/build.ts'
import { createLog } from '../server/log.ts'

/** `npm run build`: bundles the program and builds the dashboard, if their sources have changed since the last time. */
const build = dashboardBuild()
const { log, flush } = createLog('info', null)
await build.start(log).done
flush()
if (!(await bundleProgram()) || (await build.state()) !== 'ready') process.exitCode = 1
