import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { AgentFault } from '#agent/commands/agent-fault.ts';
import type { CommandRunner } from '#agent/commands/command-runner.ts';
import { faultAnswer, methodNotAllowed } from '#agent/http/fault-answer.ts';
import { requireToken } from '#agent/http/require-token.ts';
import { maxConfigDriveBytes, maxConfigDriveTextBytes } from '#agent/image/config-drive.ts';
import { CommandRequest } from '#shared/wire/command.ts';

/** A step's arguments hold the config drive as text, and Ironic repeats it in `image_info`; the rest is small. */
const maxBodyBytes = 2 * maxConfigDriveTextBytes + 4 * 1024 * 1024;

const tooLarge =
  `413 Request Entity Too Large: a command may have ${Math.floor(maxBodyBytes / 1024 ** 2)} MiB; ` +
  `a config drive in it ${maxConfigDriveBytes / 1024 ** 2} MiB before base64`;

/** `/commands/` and `/commands/<id>` (agent-protocol.md §4). */
export function commandsRoutes(commands: CommandRunner, token: () => string | undefined): Hono {
  const routes = new Hono();
  // not for all methods: a wrong method is told before a missing token, as the real agent does it
  const authorised = requireToken(token);
  routes.get('/', authorised, (c) => c.json({ commands: commands.list() }));
  routes.post(
    '/',
    authorised,
    bodyLimit({
      maxSize: maxBodyBytes,
      onError: (c) => faultAnswer(c, 413, tooLarge),
    }),
    async (c) => {
      const { name, params } = await readRequest(c);
      const started = await commands.start(name, params);
      return c.json(wantsToWait(c) ? await commands.wait(started.id) : started);
    },
  );
  routes.all('/', methodNotAllowed('HEAD, POST, GET'));
  routes.get('/:id', authorised, async (c) => {
    const id = c.req.param('id');
    return c.json(wantsToWait(c) ? await commands.wait(id) : commands.get(id));
  });
  routes.all('/:id', methodNotAllowed('HEAD, GET'));
  return routes;
}

async function readRequest(c: Context): Promise<CommandRequest> {
  const body = parse(await c.req.text());
  const request = CommandRequest.safeParse(body);
  if (!request.success) throw new AgentFault('InvalidContentError', 'Missing or invalid name or params');
  return request.data;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new AgentFault('InvalidContentError', `Failed to decode JSON object: ${(cause as Error).message}`, cause);
  }
}

function wantsToWait(c: Context): boolean {
  return c.req.query('wait')?.toLowerCase() === 'true';
}
