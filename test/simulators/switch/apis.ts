import { z } from 'zod';
import { type HttpsAnswer, type HttpsRequest, unauthorized } from '#test/simulators/switch/https-server.ts';
import type { ShellSession } from '#test/simulators/switch/switch-server.ts';

/** Vendors' HTTPS APIs that take command lines, on the dialogue that the switch has over SSH. From their documents. */

const RunCmds = z.object({
  method: z.literal('runCmds'),
  params: z.object({
    version: z.literal(1),
    format: z.enum(['json', 'text']),
    cmds: z.array(z.union([z.string(), z.object({ cmd: z.string(), input: z.string() })])),
  }),
});

/** Arista's eAPI: each request is a login of its own, which stops at the first error. */
export function answerEapi({ isKnown, path, body }: HttpsRequest, openSession: () => ShellSession): HttpsAnswer {
  if (!isKnown) return unauthorized;
  if (path !== '/command-api') return { status: 404 };
  const { format, cmds } = RunCmds.parse(JSON.parse(body)).params;
  const session = openSession();
  const result: unknown[] = [];
  for (const [index, each] of cmds.entries()) {
    const cmd = typeof each === 'string' ? each : each.cmd;
    const output = session.execute(format === 'json' && cmd.startsWith('show ') ? `${cmd} | json` : cmd);
    if (output.startsWith('%')) {
      const message = `CLI command ${index + 1} of ${cmds.length} '${cmd}' failed: invalid command`;
      const data = [...result, { errors: [output.replace(/^% /, '')] }];
      return { body: { jsonrpc: '2.0', id: 'baton', error: { code: 1002, message, data } } };
    }
    result.push(format === 'json' ? JSON.parse(output || '{}') : { output });
  }
  return { body: { jsonrpc: '2.0', id: 'baton', result } };
}

const NxCommands = z.array(
  z.object({
    method: z.enum(['cli', 'cli_ascii']),
    id: z.number(),
    params: z.object({ cmd: z.string(), version: z.literal(1) }),
    rollback: z.enum(['stop-on-error', 'rollback-on-error']).optional(),
  }),
);

/** Cisco's NX-API, whose request may take back what it has done. */
export function answerNxApi(
  { isKnown, path, body, headers }: HttpsRequest,
  openSession: () => ShellSession,
  restorePoint: () => () => void,
): HttpsAnswer {
  if (!isKnown) return unauthorized;
  if (path !== '/ins' || headers['content-type'] !== 'application/json-rpc') return { status: 404 };
  const restore = restorePoint();
  const session = openSession();
  const answers: unknown[] = [];
  let status = 200;
  for (const { id, method, params, rollback } of NxCommands.parse(JSON.parse(body))) {
    const output = session.execute(params.cmd);
    if (/^\s*(\^\n)?% ?[A-Z]/.test(output)) {
      answers.push({ jsonrpc: '2.0', error: { code: -32602, message: 'Invalid params', data: { msg: output } }, id });
      if (rollback === 'rollback-on-error') restore();
      status = 500;
      break;
    }
    answers.push({ jsonrpc: '2.0', result: method === 'cli' ? null : { msg: output }, id });
  }
  return { status, body: answers.length === 1 ? answers[0] : answers };
}
