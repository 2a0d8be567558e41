import { element } from '#conductor/board/page/page.ts';

/** @param logIn gets the Authorization header that the form stands for: a token's, or a user's with a password */
export function onLogin(logIn: (authorization: string) => void): void {
  element('login').addEventListener('submit', (event) => {
    event.preventDefault();
    const [user, token] = [element('user').value, element('token').value];
    const bytes = new TextEncoder().encode(`${user}:${token}`);
    const authorization = user === '' ? `Bearer ${token.trim()}` : `Basic ${btoa(String.fromCharCode(...bytes))}`;
    element('token').value = '';
    logIn(authorization);
  });
}
