import { readConfig } from '#conductor/start/config.ts';
import type { OpenContextOptions } from '#conductor/start/open-context.ts';
import { startConductor } from '#conductor/start/start-conductor.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { createLog, type Log } from '#shared/log.ts';

/** The conductor's process: it serves until a signal, or until another process has taken its name. */
export async function runConductor(
  environment: Readonly<Record<string, string | undefined>>,
  optionsFor: (log: Log) => Omit<OpenContextOptions, 'log'> = () => ({}),
): Promise<void> {
  try {
    const config = readConfig(environment);
    // one that comes while it starts is heeded when it has: the database's server must not be left behind
    const signalled = stopSignal();
    const log = createLog({ component: 'conductor', level: config.logLevel });
    await using conductor = await startConductor(config, { log, ...optionsFor(log) });
    const reason = await Promise.race([signalled, conductor.superseded]);
    const { shutdownDelayMs: delayMs } = config;
    log.info({ reason, delayMs }, 'conductor is stopping: nodes are left where the log says they are');
    if (reason instanceof Error) throw reason;
  } catch (error) {
    createLog({ component: 'conductor' }).fatal({ err: error }, 'conductor ended');
    process.stderr.write(`baton conductor: ${errorChain(error)}\n`);
    // what did not get as far as being closed must not keep the process
    process.exit(1);
  }
}

function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(signal));
  });
}
