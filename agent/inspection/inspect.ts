import { buildReport, type ReportServices } from '#agent/inspection/build-report.ts';
import { type ReportTarget, sendReport } from '#agent/inspection/send-report.ts';
import type { Say } from '#agent/say.ts';
import { errorChain } from '#shared/errors/app-error.ts';

/**
 * Looks at the machine and reports it. Never rejects but when the agent is stopped: as in ironic-python-agent, one that
 * can't report looks itself up all the same.
 */
export async function inspect(
  config: { readonly collectors: readonly string[] },
  target: ReportTarget,
  services: ReportServices & { readonly say: Say },
): Promise<void> {
  const { say, log } = services;
  say('inspecting this machine');
  try {
    const report = await buildReport(config.collectors, services);
    const uuid = await sendReport(report, target);
    say(`inspection report accepted by ${target.url}${uuid === undefined ? '' : ` for node ${uuid}`}`);
    log.info({ url: target.url, node: uuid }, 'inspection report accepted');
  } catch (error) {
    target.signal.throwIfAborted();
    log.error({ err: error }, 'inspection failed');
    say(`inspection failed: ${errorChain(error)}; going on without`);
  }
}
