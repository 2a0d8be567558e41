import { z } from 'zod';
import { Recording } from '#conductor/api/records.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, queryFlag, routesOf } from '#conductor/http/routing/define-routes.ts';
import { maskRecording } from '#conductor/model/recordings/mask-recording.ts';
import { replaceIdentities } from '#conductor/model/recordings/replace-identities.ts';
import { requestIdsOf } from '#conductor/model/request-ids.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { recordNode } from '#conductor/nodes/views/record-node.ts';

const route = routesOf("recordings (Baton's own)");

const options = {
  query: z.strictObject({ keep_identities: queryFlag }),
  description:
    'Passwords, communities, keys, hashes and names of users are masked. Serial numbers, UUIDs, MAC and IP addresses are ' +
    'replaced, the same by the same, unless keep_identities is true. Names and descriptions stay.',
} as const;

const recordSwitch = route.get(
  '/v1/switches/{switch}/recording',
  'Record what a switch of the networks file prints when Baton reads it, and what Baton reads in it',
  answers(200, 'the recording', Recording),
  { ...options, params: z.object({ switch: z.string().min(1).max(255) }) },
);

const recordMachine = route.get(
  '/v1/nodes/{node}/recording',
  "Record the node's last inventory, and what its BMC answers to questions that change nothing",
  answers(200, 'the recording', Recording),
  options,
);

/**
 * Serves `/v1/switches/{switch}/recording`, `/v1/nodes/{node}/recording`: what an operator sends when something is read
 * wrongly.
 */
export function recordingRoutes(app: ApiApp, context: HttpContext): void {
  app.openapi(recordSwitch, async (c) => {
    const { switch: switchId } = c.req.valid('param');
    const recording = await context.networks.record(switchId, c.req.raw.signal);
    context.log.info({ switch: switchId, user: c.get('caller').user }, 'switch recorded');
    return c.json({
      system: `${recording.driver}, ${versionIn(recording.outputs) ?? 'version unknown'}`,
      reading: recording.reading,
      ...maskAnswers(recording, c.req.valid('query').keep_identities),
    });
  });

  app.openapi(recordMachine, async (c) => {
    const node = await getNode(context.db, c.req.valid('param').node);
    const { user, ...ids } = c.get('caller');
    const recording = await recordNode(context, node, c.req.raw.signal);
    const event = `recorded: ${Object.keys(recording.outputs).length} outputs, secrets masked`;
    const { conductorName: conductor } = context.config;
    await addHistory(context.db, {
      nodeUuid: node.uuid,
      eventType: 'recording',
      event,
      conductor,
      user,
      ...requestIdsOf(ids),
    });
    return c.json({
      system: recording.system,
      reading: null,
      ...maskAnswers(recording, c.req.valid('query').keep_identities),
    });
  });
}

/** No command or file is called like this. */
const ofNames = '(names)';

/** Masks what was recorded, and what could not be; replaces identities in both unless they are to stay. */
export function maskAnswers(
  { outputs, faults }: { readonly outputs: Readonly<Record<string, string>>; readonly faults: readonly string[] },
  keepIdentities: boolean | undefined,
) {
  const masked = Object.fromEntries(Object.entries(outputs).map(([name, text]) => [name, maskRecording(text)]));
  const maskedFaults = faults.map(maskRecording);
  if (keepIdentities) return { outputs: masked, faults: maskedFaults };
  // a fault names the switch by its address
  const numbered = maskedFaults.map((fault, index) => [`fault ${index}`, fault] as const);
  // as does a network card's file
  const names = JSON.stringify(Object.keys(masked));
  const { [ofNames]: otherNames = '[]', ...replaced } = replaceIdentities({
    ...masked,
    ...Object.fromEntries(numbered),
    [ofNames]: names,
  });
  const texts = Object.entries(replaced);
  const named = z.array(z.string()).parse(JSON.parse(otherNames));
  return {
    outputs: Object.fromEntries(texts.slice(0, named.length).map(([, text], index) => [named[index] ?? '', text])),
    faults: texts.slice(named.length).map(([, text]) => text),
  };
}

/** Finds the line of a system that says its version. */
function versionIn(outputs: Readonly<Record<string, string>>): string | undefined {
  const text = outputs['show version'] ?? outputs['cat /etc/os-release'] ?? '';
  return text
    .split('\n')
    .find((line) => /version|^junos:|pretty_name/i.test(line))
    ?.trim()
    .slice(0, 120);
}
