import { DASHBOARD } from './base.ts'
import { Shell } from './shell/shell.tsx'
import { start } from './start.tsx'

start('dashboard', DASHBOARD, <Shell />)
