// Runs the agent's bundle from its bytecode (image-build/ramdisk/compile-agent.ts): compiling would be half of its start.
// Node refuses bytecode of another Node, and compiles.
const { readFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { constants, Script } = require('node:vm');

const filename = `${__dirname}/agent.cjs`;
const agent = new Script(readFileSync(filename, 'utf8'), {
  filename,
  cachedData: readFileSync(`${__dirname}/agent.bytecode`),
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
});
if (agent.cachedDataRejected) console.log('baton-agent: its bytecode is for another Node; it starts without');
const self = { exports: {} };
agent.runInThisContext()(self.exports, createRequire(filename), self, filename, __dirname);
