import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { RecorderInterface } from '#conductor/drivers/interfaces.ts';
import type { RedfishClient } from '#conductor/drivers/redfish/client/client.ts';
import { errorChain, errorCode } from '#shared/errors/app-error.ts';

const timeoutMs = 300_000;
/** A blade chassis has thousands: those nearest to the root say how it is made. */
const maxResources = 250;
const root = '/redfish/v1/';

/** Resources that say who has logged in, and what has happened, or that are the same for all of a make. */
const leftOut =
  /\/(AccountService|Accounts|Sessions|SessionService|LogServices|TaskService|JobService|Jobs|EventService|TelemetryService|Registries|JsonSchemas|CertificateService|Certificates|KeyService|Keys)(\/|$)/i;

/** The tree of resources below the service root, by GET alone, the nearest first. */
export function redfishRecorder(client: Pick<RedfishClient, 'request'>): RecorderInterface {
  return {
    record: async (options) => {
      const { signal } = callDeadline(options, timeoutMs);
      const outputs: Record<string, string> = {};
      const faults: string[] = [];
      const seen = new Set([bare(root)]);
      const waiting = [root];
      for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
        if (Object.keys(outputs).length === maxResources) {
          faults.push(`only the first ${maxResources} resources; ${waiting.length + 1} more were linked to`);
          break;
        }
        try {
          const { body } = await client.request({ method: 'GET', path, signal });
          outputs[`GET ${path}`] = typeof body === 'string' ? body : JSON.stringify(body ?? null, null, 2);
          for (const link of linksIn(body)) {
            if (seen.has(bare(link)) || leftOut.test(link)) continue;
            seen.add(bare(link));
            waiting.push(link);
          }
        } catch (error) {
          if (signal.aborted || path === root || errorCode(error) !== 'bmc_error') throw error;
          faults.push(errorChain(error));
        }
      }
      return { outputs, faults };
    },
  };
}

const bare = (path: string): string => path.replace(/\/$/, '').toLowerCase();

function linksIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, entry]: [string, unknown]) => {
    if (key !== '@odata.id') return linksIn(entry);
    // parts of a resource come with it
    return typeof entry === 'string' && entry.startsWith(root) && !entry.includes('#') ? [entry] : [];
  });
}
