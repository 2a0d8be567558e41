import { z } from 'zod';
import { type OpenCommandLine, shortenAnswer } from '#conductor/networks/switches/command-line/command-line.ts';
import { parseAnswer } from '#conductor/networks/switches/command-line/lines/parse-answer.ts';
import { openHttps } from '#conductor/networks/switches/https/https-client.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Arista's eAPI: command lines in JSON-RPC. Each request is a login of its own, hence `enable`; it stops at the first
 * command that is refused.
 */

const Answer = z.union([
  z.object({ result: z.array(z.looseObject({ output: z.string().optional() })) }),
  z.object({
    error: z.object({
      message: z.string(),
      /** One for each command that ran; the last is the refused one. */
      data: z.array(z.looseObject({ errors: z.array(z.string()).optional() })).default([]),
    }),
  }),
]);

const asJson = / \| json$/;

export const eapi: OpenCommandLine = async (access) => {
  const https = await openHttps(access);
  const enable = { cmd: 'enable', input: (await access.login?.enablePassword?.()) ?? '' };
  return {
    run: async (commands, signal) => {
      // a request has one form for all that it shows
      const isJson = commands.every((command) => asJson.test(command));
      const cmds = [enable, ...commands.map((command) => (isJson ? command.replace(asJson, '') : command))];
      const answer = await https.ask(
        {
          method: 'POST',
          path: '/command-api',
          headers: { authorization: https.basic },
          body: {
            jsonrpc: '2.0',
            method: 'runCmds',
            id: 'baton',
            params: { version: 1, format: isJson ? 'json' : 'text', cmds },
          },
        },
        signal,
      );
      const said = parseAnswer(Answer, answer.text());
      if ('result' in said) {
        const [, ...results] = said.result;
        return results.map((result) => (isJson ? JSON.stringify(result) : (result.output ?? '')));
      }
      const { message, data } = said.error;
      const refused = commands[data.length - 2] ?? 'enable';
      const words = data.at(-1)?.errors?.join(' ').trim() || message;
      throw new AppError('switch_error', `switch ${access.endpoint} refused ${refused}: ${shortenAnswer(words)}`);
    },
    isClosed: () => https.isClosed(),
    close: () => https.close(),
  };
};
