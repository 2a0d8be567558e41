import { z } from 'zod';
import { type OpenCommandLine, shortenAnswer } from '#conductor/networks/switches/command-line/command-line.ts';
import { parseAnswer } from '#conductor/networks/switches/command-line/lines/parse-answer.ts';
import { openHttps } from '#conductor/networks/switches/https/https-client.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Cisco's NX-API: command lines in JSON-RPC, what is shown as text. Of commands that configure, one that is refused takes
 * back those before it in the same request.
 */

const Each = z.object({
  result: z.object({ msg: z.string().optional() }).nullish(),
  error: z.object({ message: z.string(), data: z.object({ msg: z.string() }).optional() }).optional(),
});
/** One command is answered by an object. */
const Answer = z.union([z.array(Each), Each.transform((each) => [each])]);

export const nxApi: OpenCommandLine = async (access) => {
  const https = await openHttps(access);
  return {
    run: async (commands, signal) => {
      const answer = await https.ask(
        {
          method: 'POST',
          path: '/ins',
          headers: { authorization: https.basic, 'content-type': 'application/json-rpc' },
          body: commands.map((cmd, index) => ({
            jsonrpc: '2.0',
            id: index + 1,
            params: { cmd, version: 1 },
            ...(cmd.startsWith('show ') ? { method: 'cli_ascii' } : { method: 'cli', rollback: 'rollback-on-error' }),
          })),
        },
        signal,
      );
      const results = parseAnswer(Answer, answer.text());
      const at = results.findIndex(({ error }) => error !== undefined);
      const error = results[at]?.error;
      if (error) {
        const words = shortenAnswer(error.data?.msg ?? error.message);
        throw new AppError('switch_error', `switch ${access.endpoint} refused ${commands[at]}: ${words}`);
      }
      if (results.length < commands.length) {
        throw new AppError(
          'switch_error',
          `switch ${access.endpoint} answered ${results.length} of ${commands.length} commands`,
        );
      }
      return results.map(({ result }, index) => {
        if (result?.msg !== undefined || !commands[index]?.startsWith('show ')) return result?.msg ?? '';
        throw new AppError('switch_error', `switch ${access.endpoint} showed no text for ${commands[index]}`);
      });
    },
    isClosed: () => https.isClosed(),
    close: () => https.close(),
  };
};
