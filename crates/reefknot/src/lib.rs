//! A simulator of thin and soft things in frictional contact.
