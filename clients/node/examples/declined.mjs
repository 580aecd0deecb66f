// An error that is the same in every language: its type and message are the handler's answer.
import { HandlerError } from 'playhead-client';

export default () => {
  throw new HandlerError('Declined', 'no funds');
};
