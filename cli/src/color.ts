// The library of the questions chooses its colours while it is loaded, before the options are parsed.
if (process.argv.includes('--no-color')) process.env.NO_COLOR = '1'
