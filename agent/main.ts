import { readFile } from 'node:fs/promises';
import { runAgent } from '#agent/agent.ts';
import { readAgentConfig } from '#agent/config.ts';
import { createShellOpener } from '#agent/console/serve-console.ts';
import { customModules } from '#agent/custom/custom-modules.ts';
import { loadCustomHardware } from '#agent/custom/load-custom-hardware.ts';
import { hardwareManagers } from '#agent/hardware/active-hardware.ts';
import { createRecentLog } from '#agent/recent-log.ts';
import type { Say } from '#agent/say.ts';
import { unmountLeftovers } from '#agent/storage/file-systems/mount.ts';
import { openTpm } from '#agent/tpm/open-tpm.ts';
import { agentVersion } from '#agent/version.ts';
import { systemClock } from '#shared/clock.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { createLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { bootSecretsFile } from '#shared/wire/agent-calls.ts';

/** The agent's process: JSON log on stderr, what it is doing for people on stdout. Exits with 1 for init to restart it. */
async function main(): Promise<void> {
  const say: Say = (line) => process.stdout.write(`baton-agent: ${line}\n`);
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => stop.abort(new Error(`stopped by ${signal}`)));
  }
  try {
    say(`version ${agentVersion} starting`);
    const parameters = [await readFile('/proc/cmdline', 'utf8'), await readBootSecrets()].join(' ');
    const config = readAgentConfig(parameters, process.env);
    const recentLog = createRecentLog();
    const log = createLog({ component: 'agent', level: config.debug ? 'debug' : 'info', tee: recentLog });
    await unmountLeftovers(run, await readFile('/proc/self/mountinfo', 'utf8'), log);
    const custom = await loadCustomHardware({
      modules: customModules,
      scriptDirectory: config.scriptDir,
      taken: hardwareManagers,
      run,
    });
    for (const problem of custom.problems) {
      say(problem);
      log.error(problem);
    }
    await runAgent(config, {
      run,
      clock: systemClock,
      random: Math.random,
      log,
      say,
      recentLog: () => recentLog.text(),
      hardwareManagers: [...hardwareManagers, ...custom.managers],
      hardwareProblems: custom.problems,
      openTerminal: createShellOpener('/bin/sh', process.env),
      openTpm,
      signal: stop.signal,
    });
    say('stopped');
  } catch (error) {
    if (!stop.signal.aborted) {
      say(`FAILED: ${errorChain(error)}`);
      createLog({ component: 'agent' }).fatal({ err: error }, 'agent failed');
      process.exitCode = 1;
    }
  }
  // a command that hasn't ended in its grace time must not keep a stopped agent alive: init ends what is left of it
  process.exit();
}

/** Nothing where the machine was booted without. */
async function readBootSecrets(): Promise<string> {
  try {
    return await readFile(bootSecretsFile, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

void main();
